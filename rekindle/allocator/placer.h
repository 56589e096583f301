// SPDX-License-Identifier: Apache-2.0
// Where a new block should go.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "rekindle/allocator/address_map.h"

namespace rekindle {

// A free stretch of addresses for one block. `first` is the free range it
// starts in; it may reach over several.
struct Placement {
  Range* first = nullptr;
  DeviceAddress address = 0;
  // Chunks it touches that have no memory yet: what it costs in device calls.
  size_t unmapped_chunks = 0;
  // Chunks it touches that no live block touched: what it costs in memory.
  size_t new_chunks = 0;
};

// Stretches of addresses, ordered and apart.
struct Interval {
  DeviceAddress begin = 0;
  DeviceAddress end = 0;
};
using Intervals = std::vector<Interval>;

// Proposes placements; changes nothing. Two rules bound the memory under a
// block, whatever becomes of its neighbours:
//   * A block of up to `tight_limit` bytes touches no more chunks than one that
//     begins with a chunk would, ceil(bytes / chunk). (Small blocks across two
//     chunks would otherwise keep both alive.)
//   * A larger block may begin anywhere, and touch one chunk more. (To align
//     it too wastes the rest of its last chunk: on recorded traces up to 2% of
//     all memory, where this wastes 0.5%.)
// Placements of FindMapped and FindAny begin or end where a live block or a
// chunk does, so that new_chunks <= ceil(bytes / chunk) in both cases.
//
// Sizes are multiples of the map's alignment. Thread-compatible.
class Placer {
 public:
  // REQUIRES: tight_limit >= the chunk size. `map` outlives the placer.
  Placer(const AddressMap& map, size_t tight_limit)
      : map_(map), chunk_(map.chunk()), tight_limit_(tight_limit) {}

  // The best fit that needs no device call: in memory that is mapped. Memory
  // next to unmapped addresses counts as large as it could become.
  // Cost: O(log n).
  std::optional<Placement> FindMapped(size_t bytes) const;

  // A placement no worse than the one that FindMapped gave, in another range of
  // the same size that `suits`, if one of the next few does.
  template <typename Suits>
  std::optional<Placement> FindTwin(const Placement& like, size_t bytes,
                                    Suits suits) const {
    Range* twin = like.first->next_of_size;
    for (int i = 0; i < kLikely && twin != nullptr; ++i) {
      if (suits(*twin)) {
        const std::optional<Placement> found = Within(twin, bytes);
        if (found.has_value() && found->new_chunks <= like.new_chunks) {
          return found;
        }
      }
      twin = twin->next_of_size;
    }
    return std::nullopt;
  }

  // At this very address, if all of it is free and mapped. Cost: O(log n).
  // REQUIRES: a block of this size may begin there; one did before.
  std::optional<Placement> FindAt(DeviceAddress address, size_t bytes) const;

  // In memory that is mapped, clear of `busy`: the part that it fits best.
  // Cost: O(n).
  std::optional<Placement> FindClear(size_t bytes, const Intervals& busy) const;

  // The placement with the fewest unmapped chunks, then the fewest new ones,
  // among the likely ones, that takes at most `max_new_chunks`. If none of them
  // will do, any one that will. nullopt: there is none.
  // Cost: O(log n), or O(n) if the likely ones will not do.
  std::optional<Placement> FindAny(size_t bytes, size_t max_new_chunks) const;

  // The most chunks that any placement of `bytes` touches.
  // REQUIRES: bytes > 0, and a multiple of `alignment`.
  size_t MostChunks(size_t bytes, size_t alignment) const;

 private:
  // How many free ranges of each kind are looked at before a wider search.
  // Eight cost a microsecond or two; a device call costs ten and more.
  static constexpr int kLikely = 8;

  class Choice;

  // What is left of its last chunk if a block begins with a chunk: how far
  // into a chunk it may begin.
  size_t Slack(size_t bytes) const;
  // The next address up, or down, where a block of this slack may begin.
  DeviceAddress Up(DeviceAddress address, size_t slack) const;
  DeviceAddress Down(DeviceAddress address, size_t slack) const;

  Placement Measure(Range* first, const Range* last, DeviceAddress address,
                    size_t bytes) const;
  static size_t Stretch(const Range& range);
  std::optional<Placement> SmallestIn(const SizeIndex& index,
                                      size_t bytes) const;
  std::optional<Placement> InOpen(size_t bytes, size_t& size) const;
  std::optional<Placement> Within(Range* range, size_t bytes) const;
  std::optional<Placement> At(Range* range, DeviceAddress address,
                              size_t bytes) const;
  std::optional<Placement> FromStart(Range* range, size_t bytes) const;
  std::optional<Placement> FromEnd(Range* range, size_t bytes) const;
  std::optional<DeviceAddress> Fit(DeviceAddress begin, DeviceAddress end,
                                   size_t bytes) const;
  std::optional<Placement> FindInGaps(size_t bytes) const;
  void ConsiderLikely(size_t bytes, Choice& choice) const;

  const AddressMap& map_;
  const ChunkGrid chunk_;
  const size_t tight_limit_;
};

}  // namespace rekindle
