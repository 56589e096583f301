// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/slab.h"

#include <algorithm>
#include <utility>

#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"

namespace rekindle {

SlabPool::SlabPool(Arena& arena, size_t limit, size_t page_bytes)
    : arena_(arena), limit_(limit), page_bytes_(page_bytes) {
  const size_t largest = RoundUp(limit, kAlignment);
  RK_CHECK(page_bytes >= largest && page_bytes % Arena::kAlignment == 0,
           "a page holds a block of any class");
  for (size_t bytes = 0; bytes < largest;) {
    const size_t grown = RoundDown(bytes + bytes / 4, kAlignment);
    bytes = std::min(largest, std::max(bytes + kAlignment, grown));
    classes_.emplace_back().bytes = bytes;
    class_of_.resize(bytes / kAlignment,
                     static_cast<uint8_t>(classes_.size() - 1));
  }
}

size_t SlabPool::ClassOf(size_t bytes) const {
  return class_of_[(bytes - 1) / kAlignment];
}

size_t SlabPool::SlotBytes(size_t bytes) const {
  return classes_[ClassOf(bytes)].bytes;
}

absl::StatusOr<SlabPool::Slot> SlabPool::Allocate(size_t bytes, Stream stream) {
  const size_t index = ClassOf(bytes);
  SizeClass& size_class = classes_[index];
  SlabPage* page = ChoosePage(size_class, stream);
  if (page != nullptr) {
    const absl::Status ordered = arena_.order().Wait(page->use, stream);
    if (absl::IsResourceExhausted(ordered)) return Slot();
    RK_RETURN_IF_ERROR(ordered);
  } else {
    RK_ASSIGN_OR_RETURN(page, NewPage(index, stream));
    if (page == nullptr) return Slot();
  }
  const size_t slot = page->free_slots.back();
  page->free_slots.pop_back();
  if (page->free_slots.empty()) {
    size_class.with_room.erase(page->range->address);
  }
  return Slot{page, page->range->address + slot * size_class.bytes};
}

// nullptr if no page has room.
SlabPage* SlabPool::ChoosePage(const SizeClass& size_class, Stream stream) {
  constexpr int kLikely = 8;
  int seen = 0;
  for (const auto& [address, page] : size_class.with_room) {
    if (!arena_.order().NeedsWait(page->use, stream)) return page;
    if (++seen == kLikely) break;
  }
  return seen > 0 ? size_class.with_room.begin()->second : nullptr;
}

absl::StatusOr<SlabPage*> SlabPool::NewPage(size_t size_class, Stream stream) {
  RK_ASSIGN_OR_RETURN(Range* const range, arena_.Allocate(page_bytes_, stream));
  if (range == nullptr) return nullptr;
  auto page = std::make_unique<SlabPage>();
  page->range = range;
  page->use = range->use;
  page->size_class = size_class;
  page->slots = page_bytes_ / classes_[size_class].bytes;
  for (size_t slot = page->slots; slot > 0; --slot) {
    page->free_slots.push_back(static_cast<uint32_t>(slot - 1));
  }
  SlabPage* const result = page.get();
  classes_[size_class].with_room.emplace(range->address, result);
  pages_.emplace(range->address, std::move(page));
  return result;
}

void SlabPool::Free(Slot slot, const StreamUse& use) {
  SlabPage& page = *slot.page;
  SizeClass& size_class = classes_[page.size_class];
  const DeviceAddress address = page.range->address;
  page.use.Add(use);
  page.free_slots.push_back(
      static_cast<uint32_t>((slot.address - address) / size_class.bytes));
  if (page.free_slots.size() == page.slots) {
    size_class.with_room.erase(address);
    arena_.Free(page.range, page.use);
    pages_.erase(address);
  } else if (page.free_slots.size() == 1) {
    size_class.with_room.emplace(address, &page);
  }
}

std::vector<BlockSnapshot> SlabPool::Snapshot(DeviceAddress address) const {
  std::vector<BlockSnapshot> blocks;
  const auto found = pages_.find(address);
  if (found == pages_.end()) return blocks;
  const SlabPage& page = *found->second;
  const size_t bytes = classes_[page.size_class].bytes;
  for (size_t slot = 0; slot < page.slots; ++slot) {
    blocks.push_back({address + slot * bytes, bytes, 0, true});
  }
  for (uint32_t slot : page.free_slots) blocks[slot].live = false;
  const size_t rest = page_bytes_ - page.slots * bytes;
  if (rest > 0)
    blocks.push_back({address + page_bytes_ - rest, rest, 0, false});
  return blocks;
}

void SlabPool::CheckInvariants() const {
  size_t with_room = 0;
  for (const auto& [address, page] : pages_) {
    const SizeClass& size_class = classes_[page->size_class];
    RK_CHECK(page->range->address == address &&
                 page->range->state == RangeState::kLive &&
                 page->range->bytes == page_bytes_,
             "a page is one live block");
    RK_CHECK(page->free_slots.size() < page->slots, "no page is empty");
    RK_CHECK(
        size_class.with_room.contains(address) == !page->free_slots.empty(),
        "pages with room are found, others are not");
    with_room += page->free_slots.empty() ? 0 : 1;
  }
  for (const SizeClass& size_class : classes_) {
    with_room -= size_class.with_room.size();
  }
  RK_CHECK(with_room == 0, "nothing but pages is found");
}

}  // namespace rekindle
