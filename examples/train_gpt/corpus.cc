// SPDX-License-Identifier: Apache-2.0
#include "examples/train_gpt/corpus.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"

namespace train_gpt {
namespace {

absl::Status ReadError(const std::string& file) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", file, ": ", std::strerror(errno)));
}

absl::StatusOr<std::string> ReadFile(const std::string& file) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(
      std::fopen(file.c_str(), "rb"), std::fclose);
  if (stream == nullptr) return ReadError(file);
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (size_t n = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    text.append(buffer.data(), n);
  }
  if (std::ferror(stream.get())) return ReadError(file);  // A folder, say.
  return text;
}

}  // namespace

absl::StatusOr<Corpus> Corpus::Load(const std::string& file, size_t least) {
  RK_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  if (text.size() >= least) return Corpus(text);
  if (text.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, " is empty"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(file, " is too short: it has ", text.size(),
                   " bytes, and this --context needs ", least));
}

Corpus::Corpus(absl::string_view text) {
  std::array<int32_t, 256> token_of;
  token_of.fill(-1);
  for (char c : text) token_of[static_cast<unsigned char>(c)] = 0;
  for (size_t byte = 0; byte < token_of.size(); ++byte) {
    if (token_of[byte] < 0) continue;
    token_of[byte] = vocabulary();
    symbols_.push_back(static_cast<char>(byte));
  }
  tokens_.reserve(text.size());
  for (char c : text)
    tokens_.push_back(token_of[static_cast<unsigned char>(c)]);
}

Corpus::Batch Corpus::Draw(int rows, int length,
                           std::mt19937_64& random) const {
  Batch batch;
  for (int row = 0; row < rows; ++row) {
    const auto at =
        tokens_.begin() +
        static_cast<int64_t>(random() %
                             (tokens_.size() - static_cast<size_t>(length)));
    batch.tokens.insert(batch.tokens.end(), at, at + length);
    batch.targets.insert(batch.targets.end(), at + 1, at + length + 1);
  }
  return batch;
}

std::vector<int32_t> Corpus::Excerpt(int length) const {
  const auto at =
      tokens_.begin() + (static_cast<int64_t>(tokens_.size()) - length) / 2;
  return std::vector<int32_t>(at, at + length);
}

}  // namespace train_gpt
