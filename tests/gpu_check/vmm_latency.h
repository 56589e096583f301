// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "rekindle/device/cuda/driver_api.h"

namespace rekindle {

// What the calls of virtual memory management take: medians over the rounds,
// in microseconds, for `count` chunks of `chunk_bytes` each.
struct VmmLatency {
  size_t chunk_bytes = 0;
  int count = 0;
  double reserve = 0;     // the addresses of all chunks, one call
  double create = 0;      // a chunk
  double map = 0;         // a chunk
  double access = 0;      // all chunks, one call
  double unmap = 0;       // all chunks, one call
  double release = 0;     // a chunk
  double free_range = 0;  // the addresses, one call
};

// Runs `rounds` times. Leaves nothing behind, also when it fails.
// Errors: of the driver, with the call's name.
absl::StatusOr<VmmLatency> MeasureVmm(const cuda::DriverApi& api, int ordinal,
                                      size_t chunk_bytes, int count,
                                      int rounds);

}  // namespace rekindle
