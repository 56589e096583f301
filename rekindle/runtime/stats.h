// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rekindle/allocator/allocator.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/types.h"

namespace rekindle {

struct RuntimeStats {
  EngineStats engine;
  AllocatorStats allocator;
  MemoryInfo device;
  DeviceCounters device_calls;
  int64_t steps = 0;
};

// Several lines for people.
std::string ToString(const RuntimeStats& stats);

}  // namespace rekindle
