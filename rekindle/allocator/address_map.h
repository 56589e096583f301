// SPDX-License-Identifier: Apache-2.0
// Which addresses are free: ranges that are split, merged and found by size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/btree_set.h"
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
  Range* previous = nullptr;
  Range* next = nullptr;

  DeviceAddress end() const { return address + bytes; }
  bool free() const { return state != RangeState::kLive; }
};

// Cuts regions of addresses into ranges. Pure arithmetic: knows neither a
// device nor bytes. A Range* is valid until the range, or a free neighbour of
// the state it gets, is assigned.
//
// One list by address finds neighbours in O(1); one ordered set for each kind
// of free range finds the best fit in O(log n). (Best fit over sizes beats
// first fit on every recorded trace; separate sets keep a request from taking
// fresh memory while cached memory of a fitting size lies idle.)
// Thread-compatible.
class AddressMap {
 public:
  struct BySize {
    size_t bytes;
    DeviceAddress address;
    Range* range;
    friend bool operator<(const BySize& a, const BySize& b) {
      if (a.bytes != b.bytes) return a.bytes < b.bytes;
      return a.address < b.address;
    }
  };
  using SizeIndex = absl::btree_set<BySize>;

  // Chunks begin at the multiples of `chunk_bytes`.
  explicit AddressMap(size_t chunk_bytes) : chunk_bytes_(chunk_bytes) {}
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  size_t chunk_bytes() const { return chunk_bytes_; }

  // Adds addresses, all unmapped.
  // REQUIRES: made of whole chunks, and next to no other region.
  void AddRegion(DeviceAddress address, size_t bytes);

  // Gives the part [address, address + bytes) of `range` another state; the
  // rest of `range` keeps its own. Returns the range that now holds the part:
  // a free one is merged with its neighbours.
  // REQUIRES: the part lies in `range` and is not empty.
  Range* Assign(Range* range, DeviceAddress address, size_t bytes,
                RangeState state);
  Range* Assign(Range* range, RangeState state) {
    return Assign(range, range->address, range->bytes, state);
  }

  // The free ranges of one state, smallest first, then lowest address.
  const SizeIndex& by_size(RangeState state) const {
    return by_size_[static_cast<size_t>(state)];
  }
  // The smallest of them that has `bytes`, or nullptr.
  Range* BestFit(RangeState state, size_t bytes) const;

  // For each region the range of 0 bytes before its first.
  const std::vector<Range*>& regions() const { return regions_; }

  // Chunks that lie whole in cached ranges: no live block touches them.
  size_t idle_chunks() const { return idle_chunks_; }
  size_t live_bytes() const { return live_bytes_; }

  // Aborts unless all bookkeeping agrees. Slow; for tests.
  void CheckInvariants() const;

 private:
  Range* NewRange(DeviceAddress address, size_t bytes, RangeState state);
  void InsertBefore(Range* next, Range* range);
  void Absorb(Range* range, Range* neighbour);
  void Enter(Range* range);
  void Leave(Range* range);
  size_t WholeChunks(const Range& range) const;

  const size_t chunk_bytes_;
  size_t idle_chunks_ = 0;
  size_t live_bytes_ = 0;
  std::array<SizeIndex, 2> by_size_;  // of kUnmapped and of kCached
  std::vector<Range*> regions_;
  std::deque<Range> ranges_;  // never moves what it holds
  std::vector<Range*> unused_;
};

}  // namespace rekindle
