// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "rekindle/engine/shortfall.h"
#include "rekindle/engine/types.h"

namespace rekindle::internal {

// The error of a request that does not fit: ToString(shortfall) with the step
// (steps count from 1; 0: none was begun) and, if it was another one that
// could not run, with what was asked for. `step_budget` is one at which a whole
// step passes; it is named if it is more than this request needs, and else
// belongs to another kind of step. Ends in a period.
std::string ExhaustionMessage(const Shortfall& shortfall, const Label& asked,
                              int64_t step, std::optional<size_t> step_budget);

}  // namespace rekindle::internal
