// SPDX-License-Identifier: Apache-2.0
// Which addresses are free: ranges that are split, merged and found by size.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "absl/container/btree_map.h"
#include "rekindle/allocator/chunk_grid.h"
#include "rekindle/allocator/range.h"
#include "rekindle/allocator/size_index.h"
#include "rekindle/device/device.h"

namespace rekindle {

// Cuts regions of addresses into ranges. Pure arithmetic: knows neither a
// device nor bytes. A Range* is valid until the range, or a free neighbour of
// the state it gets, is assigned. Parts inherit the use of the whole, what is
// merged has the uses of both, and unmapped ranges have none.
//
// One list by address finds neighbours in O(1); one index for each kind of free
// range finds the best fit in O(log n). (Best fit over sizes beats first fit on
// every recorded trace; separate indices keep a request from taking fresh
// memory while cached memory of a fitting size lies idle.)
// Thread-compatible.
class AddressMap {
 public:
  // Chunks begin at the multiples of `chunk_bytes`.
  explicit AddressMap(size_t chunk_bytes) : chunk_(chunk_bytes) {}
  AddressMap(const AddressMap&) = delete;
  AddressMap& operator=(const AddressMap&) = delete;

  const ChunkGrid& chunk() const { return chunk_; }

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

  // The free ranges of each kind. A cached one is open if unmapped addresses
  // follow or precede it: it could grow; else it is enclosed by live ranges.
  const SizeIndex& unmapped() const { return unmapped_; }
  const SizeIndex& enclosed() const { return enclosed_; }
  const SizeIndex& open() const { return open_; }

  // From now on CachedAt finds ranges. (Not from the start: most programs never
  // need it, and each Assign takes half as long again.)
  void IndexByAddress();

  // The cached range that the address lies in, or nullptr.
  // REQUIRES: IndexByAddress was called.
  Range* CachedAt(DeviceAddress address) const;

  // Chunks that lie whole in the range.
  size_t WholeChunks(const Range& range) const;

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
  void Refresh(Range* neighbour);
  SizeIndex& IndexOf(const Range& range);
  void CheckRange(const Range& range) const;

  const ChunkGrid chunk_;
  size_t idle_chunks_ = 0;
  size_t live_bytes_ = 0;
  SizeIndex unmapped_;
  SizeIndex enclosed_;
  SizeIndex open_;
  bool by_address_ = false;
  absl::btree_map<DeviceAddress, Range*> cached_;  // if by_address_
  std::vector<Range*> regions_;
  std::deque<Range> ranges_;  // never moves what it holds
  std::vector<Range*> unused_;
};

}  // namespace rekindle
