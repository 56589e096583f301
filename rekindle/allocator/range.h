// SPDX-License-Identifier: Apache-2.0
// A stretch of addresses in one state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rekindle/device/device.h"

namespace rekindle {

enum class RangeState : uint8_t {
  kUnmapped,  // free, no memory behind it; starts and ends between chunks
  kCached,    // free, memory behind it
  kLive,      // one block
};

// Neighbours in address order; at either end of a region stands a live range
// of 0 bytes. Two free neighbours are never of one state.
struct Range {
  DeviceAddress address = 0;
  size_t bytes = 0;
  RangeState state = RangeState::kUnmapped;
  bool open = false;   // cached, next to unmapped addresses
  uint64_t birth = 0;  // of a live range: its position in the history
  Range* previous = nullptr;
  Range* next = nullptr;

  DeviceAddress end() const { return address + bytes; }
  bool free() const { return state != RangeState::kLive; }
  bool unmapped() const { return state == RangeState::kUnmapped; }
};

}  // namespace rekindle
