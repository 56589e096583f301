// SPDX-License-Identifier: Apache-2.0
// Why a call cannot have its bytes, with all numbers that a person needs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include "rekindle/engine/types.h"

namespace rekindle {

// State of the budget when everything that could be given up was given up.
// All in bytes.
struct Shortfall {
  Label label;  // the call, or what was read
  size_t input_bytes = 0;
  size_t held_input_bytes = 0;  // of these, constants and pinned ones
  size_t output_bytes = 0;
  size_t workspace_bytes = 0;
  size_t budget = 0;
  // What the device was seen to have of the budget.
  size_t effective_budget = std::numeric_limits<size_t>::max();
  // Physical memory that nothing can free now: constants, pins, rounding.
  size_t held_bytes = 0;
  std::array<size_t, kKinds> constant_bytes{};
  size_t pinned_bytes = 0;
  // What making missing inputs again takes at once, depth first, if that is
  // more than the call itself takes; else 0.
  size_t recompute_bytes = 0;
  Label pinned_by;  // who made the oldest pin; empty name if nobody
  // With this effective budget the same request succeeds, if held_bytes stays.
  size_t needed_budget = 0;

  // Whether the device has less than the budget.
  bool device_is_short() const { return effective_budget < budget; }
  // What is needed beyond the effective budget.
  size_t short_by() const {
    const size_t limit = std::min(budget, effective_budget);
    return needed_budget > limit ? needed_budget - limit : 0;
  }
};

// One paragraph without a step number:
// "block7/softmax" (train.cc:212) needs 1.50 GiB at once (inputs ..., outputs
// ..., workspace ...); budget ... (of which the device has only ...: another
// process may hold memory): constants ... (parameters ..., ...), pinned
// ... (eval.cc:31), rounding ..., short by .... This call needs at least ... to
// be sure to run.
// What is needed and not held, constants, pinned bytes and rounding add up to
// the effective budget and what it is short by.
std::string ToString(const Shortfall& shortfall);

}  // namespace rekindle
