// SPDX-License-Identifier: Apache-2.0
// Free ranges by size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "absl/container/btree_set.h"
#include "rekindle/allocator/range.h"

namespace rekindle {

// Ranges ordered by size, then by address. Each size class, an eighth of a
// power of two, is an ordered set of its own and a bit map tells which have
// any: nearly all sets are so small that every operation touches one node.
// Cost: O(log n) in the ranges of one class. Thread-compatible.
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
      const Ranges& ranges = classes_[i];
      auto range =
          i == first ? ranges.lower_bound({bytes, 0, nullptr}) : ranges.begin();
      for (; range != ranges.end(); ++range) {
        if (visit(range->range)) return range->range;
      }
    }
    return nullptr;
  }

  // The same for all ranges, largest first.
  template <typename Visit>
  Range* FindFromLargest(Visit visit) const {
    for (size_t i = kClasses; i-- > 0;) {
      const Ranges& ranges = classes_[i];
      for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        if (visit(range->range)) return range->range;
      }
    }
    return nullptr;
  }

 private:
  struct Entry {
    size_t bytes;
    DeviceAddress address;
    Range* range;
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.bytes != b.bytes) return a.bytes < b.bytes;
      return a.address < b.address;
    }
  };
  using Ranges = absl::btree_set<Entry>;

  static constexpr size_t kClasses = 512;

  static size_t ClassOf(size_t bytes) {
    if (bytes < 8) return bytes;
    const auto shift = static_cast<size_t>(std::bit_width(bytes)) - 4;
    return shift * 8 + (bytes >> shift);
  }
  // The first class from `from` on that has a range, or kClasses.
  size_t NextClass(size_t from) const;

  std::array<uint64_t, kClasses / 64> occupied_ = {};
  std::array<Ranges, kClasses> classes_;
  size_t size_ = 0;
};

}  // namespace rekindle
