// SPDX-License-Identifier: Apache-2.0
// Breaches of the driver's rules, as the fake driver finds them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rekindle/device/cuda/driver_api.h"

namespace rekindle::cuda {

// `rule` is a short fixed name ("map-on-mapped"), `detail` says which call,
// address and bytes.
struct Violation {
  std::string rule;
  std::string detail;
};

// Thread-compatible.
class RuleBook {
 public:
  // Notes a breach and gives back `result`, what a real driver would say.
  Result Broken(std::string rule, std::string detail, Result result) {
    violations_.push_back({std::move(rule), std::move(detail)});
    return result;
  }

  // Removes all breaches of `rule`; false if there was none.
  bool Take(const std::string& rule) {
    const size_t before = violations_.size();
    std::erase_if(violations_,
                  [&](const Violation& v) { return v.rule == rule; });
    return violations_.size() < before;
  }

  const std::vector<Violation>& violations() const { return violations_; }

 private:
  std::vector<Violation> violations_;
};

}  // namespace rekindle::cuda
