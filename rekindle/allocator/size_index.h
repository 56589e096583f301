// SPDX-License-Identifier: Apache-2.0
// Free ranges by size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rekindle/allocator/range.h"

namespace rekindle {

// Ranges ordered by size; of those of one size, the last inserted comes first.
// One list for each size; the lists of a size class, an eighth of a power of
// two, stand in order in one array, and a bit map tells which classes have any.
// Cost: of a size that is there, O(log n) in the sizes of its class, of another
// O(n) in them (a few moved words each). Thread-compatible.
class SizeIndex {
 public:
  // REQUIRES: the range does not change while it is in the index.
  void Insert(Range* range);
  void Erase(Range* range);
  bool Contains(const Range& range) const;
  size_t size() const { return size_; }

  // Shows `visit` the ranges of at least `bytes`, smallest first, until it
  // returns true; that range, or nullptr.
  template <typename Visit>
  Range* Find(size_t bytes, Visit visit) const {
    const size_t first = ClassOf(bytes);
    for (size_t i = NextClass(first); i < kClasses; i = NextClass(i + 1)) {
      const Lists& lists = classes_[i];
      for (size_t j = i == first ? Position(lists, bytes) : 0; j < lists.size();
           ++j) {
        for (Range* range = lists[j].first; range != nullptr;
             range = range->next_of_size) {
          if (visit(range)) return range;
        }
      }
    }
    return nullptr;
  }

  // The same for all ranges, largest first.
  template <typename Visit>
  Range* FindFromLargest(Visit visit) const {
    for (size_t i = kClasses; i-- > 0;) {
      const Lists& lists = classes_[i];
      for (size_t j = lists.size(); j-- > 0;) {
        for (Range* range = lists[j].first; range != nullptr;
             range = range->next_of_size) {
          if (visit(range)) return range;
        }
      }
    }
    return nullptr;
  }

 private:
  struct List {
    size_t bytes;
    Range* first;
  };
  using Lists = std::vector<List>;

  static constexpr size_t kClasses = 512;

  static size_t ClassOf(size_t bytes) {
    if (bytes < 8) return bytes;
    const auto shift = static_cast<size_t>(std::bit_width(bytes)) - 4;
    return shift * 8 + (bytes >> shift);
  }
  // The first list of at least `bytes`.
  static size_t Position(const Lists& lists, size_t bytes);
  // The first class from `from` on that has a range, or kClasses.
  size_t NextClass(size_t from) const;

  std::array<uint64_t, kClasses / 64> occupied_ = {};
  std::array<Lists, kClasses> classes_;
  size_t size_ = 0;
};

}  // namespace rekindle
