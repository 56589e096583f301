// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "rekindle/device/device.h"

namespace rekindle::programs {

// Asks the device whether a budget is kept. A budget below what is held takes
// effect as that goes: meanwhile nothing is added.
class BudgetWatch {
 public:
  explicit BudgetWatch(size_t budget) { Set(budget, 0); }

  size_t budget() const { return budget_; }
  // `created`: what the device has given when the budget becomes so.
  void Set(size_t budget, size_t created) {
    budget_ = budget;
    allowed_ = std::max(budget, created);
    most_allowed_ = std::max(most_allowed_, allowed_);
  }
  // What is wrong; empty if nothing is.
  std::string Check(const MemoryInfo& memory) {
    if (memory.created > allowed_ || memory.peak_created > most_allowed_) {
      return absl::StrCat("the device gave ", memory.created, ", at most ",
                          memory.peak_created, ", of ", allowed_);
    }
    allowed_ = std::max(budget_, memory.created);
    return "";
  }

 private:
  size_t budget_ = 0;
  // What the device may have given now, and at any time.
  size_t allowed_ = 0;
  size_t most_allowed_ = 0;
};

}  // namespace rekindle::programs
