// SPDX-License-Identifier: Apache-2.0
// Where blocks lay before, for programs that do the same again and again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rekindle/device/device.h"

namespace rekindle {

// A log of the last blocks: where each lay and how many were allocated while it
// lived. A training step repeats the one before, so a request in the same
// situation (as many live bytes, the same size, and if possible after the same
// request) is taken for the same block come back. What it did last time says
// where it should lie, and what the blocks that will come while it lives say
// which addresses it had better leave alone.
//
// Only a guess: whoever asks must cope with a wrong one. Thread-compatible.
// Cost: O(1) a request; memory for kCapacity blocks at most.
class PlacementHistory {
 public:
  // Blocks remembered. A step of a large model allocates some thousands.
  static constexpr size_t kCapacity = size_t{1} << 16;

  struct Entry {
    DeviceAddress address = 0;
    size_t bytes = 0;
    size_t live_bytes = 0;  // just before
    uint64_t born = 0;      // its position: so many blocks came before it
    uint64_t died = 0;      // so many had come when it was freed
  };

  // What the block that is now asked for was last time; nullopt if nothing is
  // known. Once for each request, before Record.
  std::optional<Entry> Recall(size_t live_bytes, size_t bytes);

  // A block lies at this address. Returns its position, for End.
  uint64_t Record(size_t live_bytes, size_t bytes, DeviceAddress address);

  // The block at this position was freed.
  void End(uint64_t born);

  // Shows `visit` the blocks that came while `entry` lived, as far as they are
  // remembered and at most `most`.
  template <typename Visit>
  void VisitLater(const Entry& entry, uint64_t most, Visit visit) const {
    const uint64_t end = std::min({entry.died, next_, entry.born + most});
    for (uint64_t i = entry.born + 1; i < end; ++i) {
      if (Holds(i)) visit(At(i));
    }
  }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};

  bool Holds(uint64_t position) const {
    return position < next_ && next_ - position <= kCapacity;
  }
  Entry& At(uint64_t position) { return log_[position % kCapacity]; }
  const Entry& At(uint64_t position) const {
    return log_[position % kCapacity];
  }
  uint64_t& LatestIn(size_t live_bytes, size_t bytes);

  std::vector<Entry> log_;        // a ring
  std::vector<uint64_t> latest_;  // position by hash of the situation
  uint64_t next_ = 0;
  uint64_t expected_ = kNever;  // position of the next block's like
};

}  // namespace rekindle
