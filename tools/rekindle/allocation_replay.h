// SPDX-License-Identifier: Apache-2.0
// An allocation trace, run again on a device that only counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rekindle/base/units.h"
#include "rekindle/trace/allocation_trace.h"

namespace rekindle::tools {

enum class ReplayAllocator {
  kVmm,  // VmmAllocator
  kBfc,  // BfcAllocator
};

struct ReplayOptions {
  // In bytes. The device has no more than this either, in whole chunks, so
  // that one chunk above it is refused there and then.
  size_t budget = 0;
  size_t granularity = 2 * kMiB;
  int passes = 2;
  ReplayAllocator allocator = ReplayAllocator::kVmm;
};

struct ReplayResult {
  std::string failure;             // why it did not complete; empty: it did
  size_t peak_physical_bytes = 0;  // as the device counts them
  // Create, destroy, map and unmap, as the device counts them: one number for
  // each pass that completed.
  std::vector<int64_t> vmm_calls;
  double ns_per_operation = 0;  // mean of all passes

  bool completed() const { return failure.empty(); }
};

// Runs the whole trace `passes` times; blocks that it leaves alive are freed
// after each pass, which counts in no pass. Stops at the first request that
// does not fit. Errors: InvalidArgument for an option out of range; of the
// device.
absl::StatusOr<ReplayResult> Replay(const AllocationTrace& trace,
                                    const ReplayOptions& options);

}  // namespace rekindle::tools
