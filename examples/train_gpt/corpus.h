// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace train_gpt {

// A text as numbers: each byte value that occurs in it is one token, in order.
class Corpus {
 public:
  // Errors: with the system's reason if the file cannot be read;
  // InvalidArgument if it has fewer than `least` bytes.
  static absl::StatusOr<Corpus> Load(const std::string& file, size_t least);

  // Rows of `length` tokens and of those that follow each, from places that
  // `random` chooses. REQUIRES: the text has more than `length` bytes.
  struct Batch {
    std::vector<int32_t> tokens;   // [rows, length]
    std::vector<int32_t> targets;  // [rows, length]
  };
  Batch Draw(int rows, int length, std::mt19937_64& random) const;

  int vocabulary() const { return static_cast<int>(symbols_.size()); }
  size_t size() const { return tokens_.size(); }
  char Decode(int32_t token) const {
    return symbols_[static_cast<size_t>(token)];
  }
  // `length` tokens from the middle. REQUIRES: as for Draw.
  std::vector<int32_t> Excerpt(int length) const;

 private:
  explicit Corpus(absl::string_view text);

  std::string symbols_;  // By token.
  std::vector<int32_t> tokens_;
};

}  // namespace train_gpt
