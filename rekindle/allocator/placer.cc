// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/placer.h"

#include <algorithm>
#include <tuple>

namespace rekindle {

// Keeps the best of the placements it is shown.
class Placer::Choice {
 public:
  explicit Choice(size_t max_new_chunks) : max_new_chunks_(max_new_chunks) {}

  void Consider(const std::optional<Placement>& placement) {
    if (!placement.has_value() || placement->new_chunks > max_new_chunks_) {
      return;
    }
    if (!best_.has_value() || Cost(*placement) < Cost(*best_)) {
      best_ = placement;
    }
  }

  const std::optional<Placement>& best() const { return best_; }

 private:
  static std::tuple<size_t, size_t, DeviceAddress> Cost(const Placement& p) {
    return {p.unmapped_chunks, p.new_chunks, p.address};
  }

  const size_t max_new_chunks_;
  std::optional<Placement> best_;
};

size_t Placer::Slack(size_t bytes) const {
  if (bytes > tight_limit_) return chunk_.bytes() - 1;
  return chunk_.Up(bytes) - bytes;
}

DeviceAddress Placer::Up(DeviceAddress address, size_t slack) const {
  return chunk_.Offset(address) <= slack ? address : chunk_.Up(address);
}

DeviceAddress Placer::Down(DeviceAddress address, size_t slack) const {
  return chunk_.Offset(address) <= slack ? address
                                         : chunk_.Down(address) + slack;
}

size_t Placer::MostChunks(size_t bytes, size_t alignment) const {
  if (bytes <= tight_limit_) return chunk_.Count(chunk_.Up(bytes));
  return chunk_.Count(chunk_.Up(bytes - alignment)) + 1;
}

// Counts the chunks of [address, address + bytes), which reaches from `first`
// to `last`. A chunk is live if it sticks out of the free ranges: free ranges
// of unlike states meet between chunks only.
Placement Placer::Measure(Range* first, const Range* last,
                          DeviceAddress address, size_t bytes) const {
  Placement placement;
  placement.first = first;
  placement.address = address;
  const DeviceAddress begin = chunk_.Down(address);
  const DeviceAddress end = chunk_.Up(address + bytes);
  const size_t touched = chunk_.Count(end - begin);
  const size_t live =
      (begin < first->address ? 1 : 0) + (end > last->end() ? 1 : 0);
  placement.new_chunks = touched - std::min(touched, live);
  for (const Range* range = first;; range = range->next) {
    if (range->state == RangeState::kUnmapped) {
      const DeviceAddress from = std::max(range->address, begin);
      const DeviceAddress to = std::min(range->end(), end);
      placement.unmapped_chunks += chunk_.Count(to - from);
    }
    if (range == last) return placement;
  }
}

// The bytes of a cached range and of the unmapped ones beside it.
size_t Placer::Stretch(const Range& range) {
  size_t bytes = range.bytes;
  if (range.previous->unmapped()) bytes += range.previous->bytes;
  if (range.next->unmapped()) bytes += range.next->bytes;
  return bytes;
}

// At the end of one range that takes fewer new chunks.
std::optional<Placement> Placer::Within(Range* range, size_t bytes) const {
  const size_t slack = Slack(bytes);
  const DeviceAddress low = Up(range->address, slack);
  if (low > range->end() - bytes) return std::nullopt;
  const Placement start = Measure(range, range, low, bytes);
  if (start.new_chunks == 0) return start;
  const DeviceAddress high = Down(range->end() - bytes, slack);
  const Placement end = Measure(range, range, high, bytes);
  return end.new_chunks < start.new_chunks ? end : start;
}

// At this very address, if all of it is free. `range` is any free range of the
// same stretch.
std::optional<Placement> Placer::At(Range* range, DeviceAddress address,
                                    size_t bytes) const {
  while (range->address > address && range->free()) range = range->previous;
  while (range->end() <= address && range->free()) range = range->next;
  Range* last = range;
  while (last->end() < address + bytes && last->free()) last = last->next;
  if (!range->free() || !last->free()) return std::nullopt;
  return Measure(range, last, address, bytes);
}

// As near the start of `range` as may be and on over its free neighbours;
// where those end too soon, as near their end.
std::optional<Placement> Placer::FromStart(Range* range, size_t bytes) const {
  const size_t slack = Slack(bytes);
  const std::optional<Placement> here =
      At(range, Up(range->address, slack), bytes);
  if (here.has_value()) return here;
  while (range->next->free()) range = range->next;
  return At(range, Down(range->end() - bytes, slack), bytes);
}

// The mirror image of FromStart.
std::optional<Placement> Placer::FromEnd(Range* range, size_t bytes) const {
  const size_t slack = Slack(bytes);
  const std::optional<Placement> here =
      At(range, Down(range->end() - bytes, slack), bytes);
  if (here.has_value()) return here;
  while (range->previous->free()) range = range->previous;
  return At(range, Up(range->address, slack), bytes);
}

// The smallest in `index` of the likely ones, or any that surely has room.
std::optional<Placement> Placer::SmallestIn(const SizeIndex& index,
                                            size_t bytes) const {
  std::optional<Placement> found;
  int misses = 0;
  index.Find(bytes, [&](Range* range) {
    found = Within(range, bytes);
    return found.has_value() || ++misses == kLikely;
  });
  if (found.has_value() || misses < kLikely) return found;
  // With a chunk to spare there is an address to begin at.
  index.Find(bytes + chunk_.bytes(), [&](Range* range) {
    found = Within(range, bytes);
    return true;
  });
  return found;
}

// Of the likely open ranges the one whose stretch of addresses is smallest: as
// memory moves, the others can become large.
std::optional<Placement> Placer::InOpen(size_t bytes, size_t& size) const {
  const SizeIndex& open = map_.open();
  std::optional<Placement> best;
  int seen = 0;
  open.Find(bytes, [&](Range* range) {
    const size_t stretch = Stretch(*range);
    if (!best.has_value() || stretch < size ||
        (stretch == size && range->address < best->address)) {
      const std::optional<Placement> found = Within(range, bytes);
      if (found.has_value()) {
        best = found;
        size = stretch;
      }
    }
    return ++seen == kLikely;
  });
  if (best.has_value() || seen < kLikely) return best;
  best = SmallestIn(open, bytes);
  if (best.has_value()) size = Stretch(*best->first);
  return best;
}

std::optional<Placement> Placer::FindMapped(size_t bytes) const {
  const std::optional<Placement> enclosed = SmallestIn(map_.enclosed(), bytes);
  if (enclosed.has_value() && enclosed->first->bytes == bytes) return enclosed;
  if (map_.open().size() == 0) return enclosed;
  size_t stretch = 0;
  const std::optional<Placement> open = InOpen(bytes, stretch);
  if (!open.has_value()) return enclosed;
  if (!enclosed.has_value()) return open;
  return enclosed->first->bytes <= stretch ? enclosed : open;
}

std::optional<Placement> Placer::FindAt(DeviceAddress address,
                                        size_t bytes) const {
  Range* const range = map_.CachedAt(address);
  if (range == nullptr || bytes > range->end() - address) return std::nullopt;
  return Measure(range, range, address, bytes);
}

// The part of [begin, end) that a block of this slack may take, if it fits.
std::optional<DeviceAddress> Placer::Fit(DeviceAddress begin, DeviceAddress end,
                                         size_t bytes) const {
  if (begin >= end) return std::nullopt;
  const DeviceAddress address = Up(begin, Slack(bytes));
  if (address >= end || bytes > end - address) return std::nullopt;
  return address;
}

std::optional<Placement> Placer::FindClear(size_t bytes,
                                           const Intervals& busy) const {
  Range* best = nullptr;
  DeviceAddress best_address = 0;
  size_t best_bytes = 0;
  const auto consider = [&](Range* range, DeviceAddress begin,
                            DeviceAddress end) {
    const std::optional<DeviceAddress> address = Fit(begin, end, bytes);
    if (!address.has_value()) return;
    if (best != nullptr && end - begin >= best_bytes) return;
    best = range;
    best_address = *address;
    best_bytes = end - begin;
  };
  const auto look = [&](Range* range) {
    DeviceAddress clear = range->address;
    auto next = std::upper_bound(
        busy.begin(), busy.end(), range->address,
        [](DeviceAddress at, const Interval& i) { return at < i.end; });
    for (; next != busy.end() && next->begin < range->end(); ++next) {
      consider(range, clear, std::max(clear, next->begin));
      clear = next->end;
    }
    consider(range, clear, range->end());
    return false;
  };
  map_.enclosed().Find(bytes, look);
  map_.open().Find(bytes, look);
  if (best == nullptr) return std::nullopt;
  return Measure(best, best, best_address, bytes);
}

// In the gaps of live chunks, past those that FindMapped looked at.
std::optional<Placement> Placer::FindInGaps(size_t bytes) const {
  std::optional<Placement> found;
  const auto fits = [&](Range* range) {
    found = Within(range, bytes);
    return found.has_value() && found->new_chunks == 0;
  };
  if (map_.enclosed().Find(bytes, fits) != nullptr) return found;
  if (map_.open().Find(bytes, fits) != nullptr) return found;
  return std::nullopt;
}

void Placer::ConsiderLikely(size_t bytes, Choice& choice) const {
  for (const SizeIndex* index : {&map_.enclosed(), &map_.open()}) {
    int seen = 0;
    index->FindFromLargest([&](Range* range) {
      choice.Consider(FromStart(range, bytes));
      choice.Consider(FromEnd(range, bytes));
      return ++seen == kLikely;
    });
  }
  // With the halves of live chunks at both ends a stretch can hold nearly two
  // chunks more than are unmapped in it.
  const size_t margin = 2 * chunk_.bytes();
  int seen = 0;
  map_.unmapped().Find(bytes - std::min(bytes, margin), [&](Range* range) {
    choice.Consider(FromStart(range, bytes));
    // Better, if it may: share a chunk with a live neighbour.
    if (range->previous->free()) {
      choice.Consider(FromStart(range->previous, bytes));
    }
    if (range->next->free()) choice.Consider(FromEnd(range->next, bytes));
    return ++seen == kLikely;
  });
}

std::optional<Placement> Placer::FindAny(size_t bytes,
                                         size_t max_new_chunks) const {
  // All but the two ends of a block lie in chunks of its own.
  const size_t chunks = chunk_.Count(chunk_.Up(bytes));
  if (max_new_chunks + 2 < chunks) return std::nullopt;
  if (max_new_chunks == 0) return FindInGaps(bytes);
  Choice choice(max_new_chunks);
  ConsiderLikely(bytes, choice);
  if (choice.best().has_value()) return choice.best();
  for (const Range* region : map_.regions()) {
    for (Range* range = region->next; range->next != nullptr;
         range = range->next) {
      if (!range->free()) continue;
      choice.Consider(FromStart(range, bytes));
      choice.Consider(FromEnd(range, bytes));
    }
  }
  return choice.best();
}

}  // namespace rekindle
