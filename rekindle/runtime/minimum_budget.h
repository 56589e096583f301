// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "rekindle/engine/step.h"
#include "rekindle/evictor/policies.h"

namespace rekindle::internal {

inline constexpr double kMostRecomputation = 3;

// How the step is to be run.
struct ReplayOptions {
  size_t granularity = 0;  // of the device
  size_t chunk_bytes = 0;  // as in VmmAllocatorOptions
  std::string policy;      // of these:
  PolicyRegistry policies = PolicyRegistry::Builtin();
};

// A budget at which the step passes on a counting device, in bytes: the first
// of those tried, which start at what its constants take and rise by about one
// percent of its peak. (Every one is tried, because a step may fail with more
// memory than it passed with.) A step whose recomputations cost more than
// kMostRecomputation times its calls counts as failed.
// Errors: Internal if it does not pass without a limit either, Cancelled if
// none was found by the deadline.
absl::StatusOr<size_t> SmallestBudget(
    const Step& step, const ReplayOptions& options,
    std::chrono::steady_clock::time_point deadline);

}  // namespace rekindle::internal
