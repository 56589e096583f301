// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "rekindle/device/device.h"

namespace rekindle {

struct PressureOptions {
  size_t budget = 0;       // in bytes
  size_t chunk_bytes = 0;  // 0: the device's unit
  int operations = 0;
  uint64_t seed = 1;
};

struct PressureResult {
  int64_t allocations = 0;
  int64_t verified = 0;   // blocks whose bytes were compared
  int64_t vmm_calls = 0;  // memory created, destroyed, mapped and unmapped
  size_t peak_physical_bytes = 0;
};

// Fills a budget on the device with blocks of random sizes, each with bytes of
// its own, and keeps replacing them, so that memory has to move behind other
// addresses. Errors: Internal for bytes that changed or a budget that was
// passed (as the device counts); of the device.
absl::StatusOr<PressureResult> RunUnderPressure(Device& device,
                                                const PressureOptions& options);

}  // namespace rekindle
