// SPDX-License-Identifier: Apache-2.0
// Who lies where, at one moment and over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rekindle/device/device.h"

namespace rekindle {

// Part of a segment: one live block with its rounding, or free memory.
struct BlockSnapshot {
  DeviceAddress address = 0;
  size_t bytes = 0;
  size_t requested_bytes = 0;
  bool live = false;
};

// A run of addresses with memory behind all of them. Its blocks lie one after
// another, from its start to its end.
struct SegmentSnapshot {
  DeviceAddress address = 0;
  size_t bytes = 0;
  std::vector<BlockSnapshot> blocks;
};

// A place in the program.
struct Frame {
  std::string name;
  std::string file;
  int line = 0;
};

struct MemoryEvent {
  // kMap, kUnmap: these addresses got, or lost, the memory behind them.
  enum class Action : uint8_t { kAllocate, kFree, kMap, kUnmap, kOutOfMemory };
  Action action = Action::kAllocate;
  DeviceAddress address = 0;  // 0 for kOutOfMemory
  size_t bytes = 0;
  size_t free_bytes = 0;  // kOutOfMemory: of the budget, not under live blocks
  int64_t time_us = 0;    // since 1970
  Frame frame;            // what the program was doing
};

}  // namespace rekindle
