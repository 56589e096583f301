// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/size_index.h"

namespace rekindle {

void SizeIndex::Insert(Range* range) {
  const size_t index = ClassOf(range->bytes);
  classes_[index].insert({range->bytes, range->address, range});
  occupied_[index / 64] |= uint64_t{1} << (index % 64);
  ++size_;
}

void SizeIndex::Erase(Range* range) {
  const size_t index = ClassOf(range->bytes);
  Ranges& ranges = classes_[index];
  ranges.erase(ranges.find({range->bytes, range->address, range}));
  if (ranges.empty()) occupied_[index / 64] &= ~(uint64_t{1} << (index % 64));
  --size_;
}

bool SizeIndex::Contains(const Range& range) const {
  return classes_[ClassOf(range.bytes)].contains(
      {range.bytes, range.address, nullptr});
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
