// SPDX-License-Identifier: Apache-2.0
// A stretch of addresses in one state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rekindle/allocator/stream_use.h"
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
  bool open = false;  // cached, next to unmapped addresses
  // Of a live range: its position in the history, and what was asked for
  // (0: the range is not a block of its own).
  uint64_t birth = 0;
  size_t requested = 0;
  // Of a cached range: who may still use some of it; of a live one: who might
  // have when it was allocated.
  StreamUse use;
  Range* previous = nullptr;
  Range* next = nullptr;
  Range* previous_of_size = nullptr;  // the SizeIndex's
  Range* next_of_size = nullptr;

  DeviceAddress end() const { return address + bytes; }
  bool free() const { return state != RangeState::kLive; }
  bool unmapped() const { return state == RangeState::kUnmapped; }
};

}  // namespace rekindle
