// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/placement.h"

#include <algorithm>
#include <tuple>

#include "rekindle/base/units.h"

namespace rekindle {
namespace {

// How many free ranges of each kind FindAny looks at before all of them. Eight
// of each cost a microsecond or two; a device call costs ten and more.
constexpr int kLikely = 8;

// Counts the chunks of [address, address + bytes), which reaches from `first`
// to `last`. A chunk is live if it sticks out of the free ranges: free ranges
// of unlike states meet between chunks only.
Placement Measure(size_t chunk, Range* first, const Range* last,
                  DeviceAddress address, size_t bytes) {
  Placement placement;
  placement.first = first;
  placement.address = address;
  const DeviceAddress begin = RoundDown(address, chunk);
  const DeviceAddress end = RoundUp(address + bytes, chunk);
  const size_t touched = (end - begin) / chunk;
  const bool live_head = begin < first->address;
  const bool live_tail = end > last->end();
  const size_t live = (live_head ? 1 : 0) + (live_tail ? 1 : 0);
  placement.new_chunks = touched - std::min(touched, live);
  for (const Range* range = first;; range = range->next) {
    if (range->state == RangeState::kUnmapped) {
      const DeviceAddress from = std::max(range->address, begin);
      const DeviceAddress to = std::min(range->end(), end);
      placement.unmapped_chunks += (to - from) / chunk;
    }
    if (range == last) return placement;
  }
}

// At the start of `range` and on over its free neighbours; where those end too
// soon, up against their end.
std::optional<Placement> AtStart(const AddressMap& map, Range* range,
                                 size_t bytes) {
  Range* first = range;
  Range* last = range;
  size_t covered = range->bytes;
  for (; covered < bytes && last->next->free(); covered += last->bytes) {
    last = last->next;
  }
  if (covered >= bytes) {
    return Measure(map.chunk_bytes(), first, last, range->address, bytes);
  }
  for (; covered < bytes && first->previous->free(); covered += first->bytes) {
    first = first->previous;
  }
  if (covered < bytes) return std::nullopt;
  return Measure(map.chunk_bytes(), first, last, last->end() - bytes, bytes);
}

// The mirror image of AtStart.
std::optional<Placement> AtEnd(const AddressMap& map, Range* range,
                               size_t bytes) {
  Range* first = range;
  Range* last = range;
  size_t covered = range->bytes;
  for (; covered < bytes && first->previous->free(); covered += first->bytes) {
    first = first->previous;
  }
  if (covered >= bytes) {
    return Measure(map.chunk_bytes(), first, last, range->end() - bytes, bytes);
  }
  for (; covered < bytes && last->next->free(); covered += last->bytes) {
    last = last->next;
  }
  if (covered < bytes) return std::nullopt;
  return Measure(map.chunk_bytes(), first, last, first->address, bytes);
}

// Keeps the best of the placements it is shown.
class Choice {
 public:
  Choice(const AddressMap& map, size_t bytes, size_t max_new_chunks)
      : map_(map), bytes_(bytes), max_new_chunks_(max_new_chunks) {}

  void ConsiderBothEnds(Range* range) {
    Consider(AtStart(map_, range, bytes_));
    Consider(AtEnd(map_, range, bytes_));
  }

  // A block in unmapped addresses should share a chunk with a neighbour.
  void ConsiderWithNeighbours(Range* range) {
    Range* const before = range->previous;
    Range* const after = range->next;
    Consider(AtStart(map_, before->free() ? before : range, bytes_));
    Consider(AtEnd(map_, after->free() ? after : range, bytes_));
  }

  const std::optional<Placement>& best() const { return best_; }

 private:
  void Consider(const std::optional<Placement>& placement) {
    if (!placement.has_value() || placement->new_chunks > max_new_chunks_) {
      return;
    }
    if (!best_.has_value() || Cost(*placement) < Cost(*best_)) {
      best_ = placement;
    }
  }

  static std::tuple<size_t, size_t, DeviceAddress> Cost(const Placement& p) {
    return {p.unmapped_chunks, p.new_chunks, p.address};
  }

  const AddressMap& map_;
  const size_t bytes_;
  const size_t max_new_chunks_;
  std::optional<Placement> best_;
};

void ConsiderLikely(const AddressMap& map, size_t bytes, Choice& choice) {
  const AddressMap::SizeIndex& cached = map.by_size(RangeState::kCached);
  auto largest = cached.rbegin();
  for (int i = 0; i < kLikely && largest != cached.rend(); ++i, ++largest) {
    choice.ConsiderBothEnds(largest->range);
  }
  // With the halves of live chunks at both ends a stretch can hold nearly two
  // chunks more than are unmapped in it.
  const size_t margin = 2 * map.chunk_bytes();
  const AddressMap::SizeIndex& unmapped = map.by_size(RangeState::kUnmapped);
  auto fit =
      unmapped.lower_bound({bytes > margin ? bytes - margin : 0, 0, nullptr});
  for (int i = 0; i < kLikely && fit != unmapped.end(); ++i, ++fit) {
    choice.ConsiderWithNeighbours(fit->range);
  }
}

}  // namespace

std::optional<Placement> FindMapped(const AddressMap& map, size_t bytes) {
  Range* const range = map.BestFit(RangeState::kCached, bytes);
  if (range == nullptr) return std::nullopt;
  const std::optional<Placement> start = AtStart(map, range, bytes);
  const std::optional<Placement> end = AtEnd(map, range, bytes);
  return end->new_chunks < start->new_chunks ? end : start;
}

std::optional<Placement> FindAny(const AddressMap& map, size_t bytes,
                                 size_t max_new_chunks) {
  // All but the two ends of a block lie in chunks of its own.
  const size_t chunks = RoundUp(bytes, map.chunk_bytes()) / map.chunk_bytes();
  if (max_new_chunks == 0 || max_new_chunks + 2 < chunks) return std::nullopt;
  Choice choice(map, bytes, max_new_chunks);
  ConsiderLikely(map, bytes, choice);
  if (choice.best().has_value()) return choice.best();
  for (const Range* region : map.regions()) {
    for (Range* range = region->next; range->next != nullptr;
         range = range->next) {
      if (range->free()) choice.ConsiderBothEnds(range);
    }
  }
  return choice.best();
}

}  // namespace rekindle
