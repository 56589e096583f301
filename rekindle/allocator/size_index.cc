// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/size_index.h"

#include <algorithm>

namespace rekindle {

size_t SizeIndex::Position(const Lists& lists, size_t bytes) {
  const auto found = std::lower_bound(
      lists.begin(), lists.end(), bytes,
      [](const List& list, size_t size) { return list.bytes < size; });
  return static_cast<size_t>(found - lists.begin());
}

void SizeIndex::Insert(Range* range) {
  const size_t index = ClassOf(range->bytes);
  Lists& lists = classes_[index];
  const size_t position = Position(lists, range->bytes);
  if (position == lists.size() || lists[position].bytes != range->bytes) {
    lists.insert(lists.begin() + static_cast<std::ptrdiff_t>(position),
                 {range->bytes, nullptr});
  }
  Range*& first = lists[position].first;
  range->previous_of_size = nullptr;
  range->next_of_size = first;
  if (first != nullptr) first->previous_of_size = range;
  first = range;
  occupied_[index / 64] |= uint64_t{1} << (index % 64);
  ++size_;
}

void SizeIndex::Erase(Range* range) {
  --size_;
  Range* const next = range->next_of_size;
  if (next != nullptr) next->previous_of_size = range->previous_of_size;
  if (range->previous_of_size != nullptr) {
    range->previous_of_size->next_of_size = next;
    return;
  }
  const size_t index = ClassOf(range->bytes);
  Lists& lists = classes_[index];
  const size_t position = Position(lists, range->bytes);
  lists[position].first = next;
  if (next != nullptr) return;
  lists.erase(lists.begin() + static_cast<std::ptrdiff_t>(position));
  if (lists.empty()) occupied_[index / 64] &= ~(uint64_t{1} << (index % 64));
}

bool SizeIndex::Contains(const Range& range) const {
  return Find(range.bytes, [&](const Range* other) {
           return other == &range || other->bytes > range.bytes;
         }) == &range;
}

size_t SizeIndex::NextClass(size_t from) const {
  if (from >= kClasses) return kClasses;
  uint64_t bits = occupied_[from / 64] >> (from % 64);
  if (bits != 0) return from + static_cast<size_t>(std::countr_zero(bits));
  for (size_t word = from / 64 + 1; word < occupied_.size(); ++word) {
    bits = occupied_[word];
    if (bits != 0) {
      return word * 64 + static_cast<size_t>(std::countr_zero(bits));
    }
  }
  return kClasses;
}

}  // namespace rekindle
