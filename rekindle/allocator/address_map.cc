// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/address_map.h"

#include "rekindle/base/check.h"
#include "rekindle/base/units.h"

namespace rekindle {

void AddressMap::AddRegion(DeviceAddress address, size_t bytes) {
  RK_CHECK(
      bytes > 0 && chunk_.Offset(address) == 0 && chunk_.Offset(bytes) == 0,
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
  const RangeState old_state = range->state;
  const DeviceAddress begin = range->address;
  const DeviceAddress end = range->end();
  range->address = address;
  range->bytes = bytes;
  range->state = state;
  if (address > begin) {
    Range* const before = NewRange(begin, address - begin, old_state);
    before->use = range->use;
    InsertBefore(range, before);
    Enter(before);
  }
  if (address + bytes < end) {
    const DeviceAddress start = address + bytes;
    Range* const after = NewRange(start, end - start, old_state);
    after->use = range->use;
    InsertBefore(range->next, after);
    Enter(after);
  }
  if (range->unmapped()) range->use = {};
  if (range->free()) {
    if (range->previous->state == state) Absorb(range, range->previous);
    if (range->next->state == state) Absorb(range, range->next);
  }
  Enter(range);
  if (old_state == RangeState::kUnmapped || range->unmapped()) {
    Refresh(range->previous);
    Refresh(range->next);
  }
  return range;
}

void AddressMap::IndexByAddress() {
  if (by_address_) return;
  by_address_ = true;
  for (const Range* first : regions_) {
    for (Range* range = first->next; range->next != nullptr;
         range = range->next) {
      if (range->state != RangeState::kCached) continue;
      cached_.emplace(range->address, range);
    }
  }
}

Range* AddressMap::CachedAt(DeviceAddress address) const {
  auto found = cached_.upper_bound(address);
  if (found == cached_.begin()) return nullptr;
  Range* const range = (--found)->second;
  return range->end() > address ? range : nullptr;
}

Range* AddressMap::NewRange(DeviceAddress address, size_t bytes,
                            RangeState state) {
  if (unused_.empty()) unused_.push_back(&ranges_.emplace_back());
  Range* const range = unused_.back();
  unused_.pop_back();
  *range = {};
  range->address = address;
  range->bytes = bytes;
  range->state = state;
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
  range->use.Add(neighbour->use);
  neighbour->previous->next = neighbour->next;
  neighbour->next->previous = neighbour->previous;
  unused_.push_back(neighbour);
}

SizeIndex& AddressMap::IndexOf(const Range& range) {
  if (range.unmapped()) return unmapped_;
  return range.open ? open_ : enclosed_;
}

void AddressMap::Enter(Range* range) {
  if (!range->free()) {
    live_bytes_ += range->bytes;
    return;
  }
  if (range->state == RangeState::kCached) {
    range->open = range->previous->unmapped() || range->next->unmapped();
    idle_chunks_ += WholeChunks(*range);
    if (by_address_) cached_.emplace(range->address, range);
  }
  IndexOf(*range).Insert(range);
}

void AddressMap::Leave(Range* range) {
  if (!range->free()) {
    live_bytes_ -= range->bytes;
    return;
  }
  if (range->state == RangeState::kCached) {
    idle_chunks_ -= WholeChunks(*range);
    if (by_address_) cached_.erase(range->address);
  }
  IndexOf(*range).Erase(range);
}

// A neighbour became unmapped, or is so no more.
void AddressMap::Refresh(Range* neighbour) {
  if (neighbour->state != RangeState::kCached) return;
  Leave(neighbour);
  Enter(neighbour);
}

size_t AddressMap::WholeChunks(const Range& range) const {
  if (range.bytes < chunk_.bytes()) return 0;
  const DeviceAddress begin = chunk_.Up(range.address);
  const DeviceAddress end = chunk_.Down(range.end());
  return end > begin ? chunk_.Count(end - begin) : 0;
}

void AddressMap::CheckRange(const Range& range) const {
  RK_CHECK(range.bytes > 0, "only the ends of a region are empty");
  RK_CHECK(range.previous->end() == range.address, "ranges tile");
  RK_CHECK(range.next->previous == &range, "the list is linked both ways");
  if (!range.free()) return;
  RK_CHECK(range.previous->state != range.state,
           "free neighbours of one state are merged");
  if (range.unmapped()) {
    RK_CHECK(range.use.none(), "nobody uses what has no memory");
    RK_CHECK(unmapped_.Contains(range) && chunk_.Offset(range.address) == 0 &&
                 chunk_.Offset(range.bytes) == 0,
             "unmapped ranges are whole chunks, found by size");
    return;
  }
  RK_CHECK(range.open == (range.previous->unmapped() || range.next->unmapped()),
           "cached ranges beside unmapped ones are open");
  RK_CHECK((range.open ? open_ : enclosed_).Contains(range),
           "cached ranges are found by size");
  RK_CHECK(!by_address_ || CachedAt(range.address) == &range,
           "cached ranges are found by address");
}

void AddressMap::CheckInvariants() const {
  size_t idle = 0;
  size_t live = 0;
  size_t unmapped = 0;
  size_t cached = 0;
  for (const Range* first : regions_) {
    const Range* range = first->next;
    for (; range->next != nullptr; range = range->next) {
      CheckRange(*range);
      if (!range->free()) live += range->bytes;
      if (range->unmapped()) ++unmapped;
      if (range->state != RangeState::kCached) continue;
      idle += WholeChunks(*range);
      ++cached;
    }
    RK_CHECK(range->previous->end() == range->address, "ranges tile");
  }
  RK_CHECK(idle == idle_chunks_, "idle chunks are counted");
  RK_CHECK(live == live_bytes_, "live bytes are counted");
  RK_CHECK(unmapped == unmapped_.size() &&
               cached == enclosed_.size() + open_.size() &&
               cached_.size() == (by_address_ ? cached : 0),
           "the indices have the free ranges and no others");
}

}  // namespace rekindle
