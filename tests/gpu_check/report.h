// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rekindle {

// One thing that was checked or measured.
struct Finding {
  enum class Outcome { kOk, kFailed, kSkipped };
  std::string section;
  std::string name;
  Outcome outcome = Outcome::kOk;
  std::string detail;              // for people
  nlohmann::ordered_json figures;  // the same for programs; may be null
};

// Collects findings; prints each at once, so that a run that is cut off leaves
// what it had. Thread-compatible.
class Report {
 public:
  explicit Report(std::FILE* out) : out_(out) {}

  void Add(Finding finding);

  // True if nothing failed and at least one check was made.
  bool ok() const;
  // "12 ok, 0 failed, 3 skipped"
  std::string Summary() const;
  nlohmann::ordered_json ToJson() const;

 private:
  size_t Count(Finding::Outcome outcome) const;

  std::FILE* const out_;
  std::vector<Finding> findings_;
};

}  // namespace rekindle
