// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/address_map.h"

#include "rekindle/base/check.h"
#include "rekindle/base/units.h"

namespace rekindle {

void AddressMap::AddRegion(DeviceAddress address, size_t bytes) {
  RK_CHECK(
      bytes > 0 && address % chunk_bytes_ == 0 && bytes % chunk_bytes_ == 0,
      "a region is made of whole chunks");
  Range* const first = NewRange(address, 0, RangeState::kLive);
  Range* const last = NewRange(address + bytes, 0, RangeState::kLive);
  first->next = last;
  last->previous = first;
  regions_.push_back(first);
  Range* const range = NewRange(address, bytes, RangeState::kUnmapped);
  InsertBefore(last, range);
  Enter(range);
}

Range* AddressMap::Assign(Range* range, DeviceAddress address, size_t bytes,
                          RangeState state) {
  RK_CHECK(
      bytes > 0 && address >= range->address && bytes <= range->end() - address,
      "the part lies in the range");
  Leave(range);
  const DeviceAddress end = range->end();
  if (address > range->address) {
    Range* const before =
        NewRange(range->address, address - range->address, range->state);
    InsertBefore(range, before);
    Enter(before);
  }
  if (address + bytes < end) {
    Range* const after =
        NewRange(address + bytes, end - address - bytes, range->state);
    InsertBefore(range->next, after);
    Enter(after);
  }
  range->address = address;
  range->bytes = bytes;
  range->state = state;
  if (range->free()) {
    if (range->previous->state == state) Absorb(range, range->previous);
    if (range->next->state == state) Absorb(range, range->next);
  }
  Enter(range);
  return range;
}

Range* AddressMap::BestFit(RangeState state, size_t bytes) const {
  const SizeIndex& index = by_size(state);
  const auto found = index.lower_bound({bytes, 0, nullptr});
  return found == index.end() ? nullptr : found->range;
}

Range* AddressMap::NewRange(DeviceAddress address, size_t bytes,
                            RangeState state) {
  if (unused_.empty()) unused_.push_back(&ranges_.emplace_back());
  Range* const range = unused_.back();
  unused_.pop_back();
  *range = {address, bytes, state, nullptr, nullptr};
  return range;
}

void AddressMap::InsertBefore(Range* next, Range* range) {
  range->next = next;
  range->previous = next->previous;
  next->previous->next = range;
  next->previous = range;
}

// Adds a free neighbour to `range`, which is in no index at the moment.
void AddressMap::Absorb(Range* range, Range* neighbour) {
  Leave(neighbour);
  if (neighbour->address < range->address) range->address = neighbour->address;
  range->bytes += neighbour->bytes;
  neighbour->previous->next = neighbour->next;
  neighbour->next->previous = neighbour->previous;
  unused_.push_back(neighbour);
}

void AddressMap::Enter(Range* range) {
  if (!range->free()) {
    live_bytes_ += range->bytes;
    return;
  }
  if (range->state == RangeState::kCached) idle_chunks_ += WholeChunks(*range);
  by_size_[static_cast<size_t>(range->state)].insert(
      {range->bytes, range->address, range});
}

void AddressMap::Leave(Range* range) {
  if (!range->free()) {
    live_bytes_ -= range->bytes;
    return;
  }
  if (range->state == RangeState::kCached) idle_chunks_ -= WholeChunks(*range);
  SizeIndex& index = by_size_[static_cast<size_t>(range->state)];
  index.erase(index.find({range->bytes, range->address, range}));
}

size_t AddressMap::WholeChunks(const Range& range) const {
  if (range.bytes < chunk_bytes_) return 0;
  const DeviceAddress begin = RoundUp(range.address, chunk_bytes_);
  const DeviceAddress end = RoundDown(range.end(), chunk_bytes_);
  return end > begin ? (end - begin) / chunk_bytes_ : 0;
}

void AddressMap::CheckInvariants() const {
  size_t idle = 0;
  size_t live = 0;
  std::array<size_t, 2> free = {0, 0};
  for (const Range* first : regions_) {
    const Range* range = first->next;
    for (; range->next != nullptr; range = range->next) {
      RK_CHECK(range->bytes > 0, "only the ends of a region are empty");
      RK_CHECK(range->previous->end() == range->address, "ranges tile");
      RK_CHECK(range->next->previous == range, "the list is linked both ways");
      if (!range->free()) {
        live += range->bytes;
        continue;
      }
      RK_CHECK(range->previous->state != range->state,
               "free neighbours of one state are merged");
      RK_CHECK(by_size(range->state)
                   .contains({range->bytes, range->address, nullptr}),
               "free ranges are found by size");
      ++free[static_cast<size_t>(range->state)];
      if (range->state == RangeState::kCached) idle += WholeChunks(*range);
      if (range->state == RangeState::kUnmapped) {
        RK_CHECK(range->address % chunk_bytes_ == 0 &&
                     range->bytes % chunk_bytes_ == 0,
                 "unmapped ranges are whole chunks");
      }
    }
    RK_CHECK(range->previous->end() == range->address, "ranges tile");
  }
  RK_CHECK(idle == idle_chunks_, "idle chunks are counted");
  RK_CHECK(live == live_bytes_, "live bytes are counted");
  RK_CHECK(free[0] == by_size_[0].size() && free[1] == by_size_[1].size(),
           "the size index has the free ranges and no others");
}

}  // namespace rekindle
