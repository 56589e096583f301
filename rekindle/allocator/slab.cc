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
  return TakeSlot(*page);
}

// REQUIRES: the page has room.
SlabPool::Slot SlabPool::TakeSlot(SlabPage& page) {
  SizeClass& size_class = classes_[page.size_class];
  const size_t slot = page.free_slots.back();
  page.free_slots.pop_back();
  --size_class.free_slots;
  if (page.free_slots.empty()) {
    size_class.with_room.erase(page.range->address);
  }
  return Slot{&page, page.range->address + slot * size_class.bytes};
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
  classes_[size_class].free_slots += page->slots;
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
  ++size_class.free_slots;
  if (page.free_slots.size() == page.slots) {
    size_class.with_room.erase(address);
    size_class.free_slots -= page.slots;
    arena_.Free(page.range, page.use);
    pages_.erase(address);
  } else if (page.free_slots.size() == 1 && !page.emptying) {
    size_class.with_room.emplace(address, &page);
  }
}

absl::StatusOr<size_t> SlabPool::Compact(
    size_t bytes, absl::FunctionRef<bool(DeviceAddress)> can_move,
    absl::FunctionRef<absl::Status(Slot from, Slot to)> move) {
  if (!CouldEmptyAPage()) return 0;
  const auto movable = [&](DeviceAddress address) {
    const std::vector<DeviceAddress> live = LiveSlots(*pages_.at(address));
    return std::all_of(live.begin(), live.end(), can_move);
  };
  std::vector<DeviceAddress> pages =
      PagesToEmpty(PageUses(), page_bytes_, bytes, movable);
  for (DeviceAddress page : pages) SetEmptying(*pages_.at(page), true);
  absl::Status status;
  size_t emptied = 0;
  for (DeviceAddress address : pages) {
    SlabPage& page = *pages_.at(address);
    if (status.ok()) status = Empty(page, move);
    if (status.ok()) {
      ++emptied;
    } else {
      SetEmptying(page, false);
    }
  }
  emptied_pages_ += static_cast<int64_t>(emptied);
  RK_RETURN_IF_ERROR(status);
  return emptied * page_bytes_;
}

// Whether some class has as many free slots as a page. That is what it takes:
// those in the page that goes, and one elsewhere for each of its blocks.
bool SlabPool::CouldEmptyAPage() const {
  return std::any_of(classes_.begin(), classes_.end(), [&](const SizeClass& c) {
    return c.free_slots >= page_bytes_ / c.bytes;
  });
}

std::vector<PageUse> SlabPool::PageUses() const {
  std::vector<PageUse> uses;
  uses.reserve(pages_.size());
  for (const auto& [address, page] : pages_) {
    PageUse use;
    use.address = address;
    use.size_class = page->size_class;
    use.slots = page->slots;
    use.live = page->slots - page->free_slots.size();
    const DeviceAddress chunk = RoundDown(address, arena_.chunk_bytes());
    const bool same = !uses.empty() && uses.back().chunk == chunk;
    if (same || HasOnlyPages(*page->range)) use.chunk = chunk;
    uses.push_back(use);
  }
  return uses;
}

// Whether nothing but whole pages is live in the chunk of this one.
bool SlabPool::HasOnlyPages(const Range& page) const {
  const DeviceAddress begin = RoundDown(page.address, arena_.chunk_bytes());
  const DeviceAddress end = begin + arena_.chunk_bytes();
  const auto is_fine = [&](const Range& range) {
    if (range.free() || range.bytes == 0) return true;
    return range.address >= begin && range.end() <= end &&
           pages_.contains(range.address);
  };
  const Range* range = &page;
  for (; range != nullptr && range->end() > begin; range = range->previous) {
    if (!is_fine(*range)) return false;
  }
  for (range = page.next; range != nullptr && range->address < end;
       range = range->next) {
    if (!is_fine(*range)) return false;
  }
  return true;
}

std::vector<DeviceAddress> SlabPool::LiveSlots(const SlabPage& page) const {
  std::vector<bool> live(page.slots, true);
  for (uint32_t slot : page.free_slots) live[slot] = false;
  std::vector<DeviceAddress> addresses;
  for (size_t slot = 0; slot < page.slots; ++slot) {
    if (!live[slot]) continue;
    addresses.push_back(page.range->address +
                        slot * classes_[page.size_class].bytes);
  }
  return addresses;
}

void SlabPool::SetEmptying(SlabPage& page, bool emptying) {
  page.emptying = emptying;
  auto& with_room = classes_[page.size_class].with_room;
  if (emptying) {
    with_room.erase(page.range->address);
  } else if (!page.free_slots.empty()) {
    with_room.emplace(page.range->address, &page);
  }
}

// REQUIRES: other pages of its class have slots for all its blocks.
absl::Status SlabPool::Empty(
    SlabPage& page, absl::FunctionRef<absl::Status(Slot from, Slot to)> move) {
  const SizeClass& size_class = classes_[page.size_class];
  for (const DeviceAddress address : LiveSlots(page)) {
    const Slot from = {&page, address};
    SlabPage& target = *size_class.with_room.begin()->second;
    RK_RETURN_IF_ERROR(arena_.order().Wait(target.use, Stream()));
    const Slot to = TakeSlot(target);
    // The copy may still be on its way when the slot is free again.
    target.use.Add(arena_.order().Use(Stream()));
    const absl::Status moved = move(from, to);
    // The last one ends the page.
    Free(moved.ok() ? from : to, arena_.order().Use(Stream()));
    RK_RETURN_IF_ERROR(moved);
  }
  return absl::OkStatus();
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
  std::vector<size_t> free_slots(classes_.size());
  for (const auto& [address, page] : pages_) {
    const SizeClass& size_class = classes_[page->size_class];
    RK_CHECK(page->range->address == address &&
                 page->range->state == RangeState::kLive &&
                 page->range->bytes == page_bytes_,
             "a page is one live block");
    RK_CHECK(page->free_slots.size() < page->slots, "no page is empty");
    RK_CHECK(!page->emptying, "no page is being emptied");
    free_slots[page->size_class] += page->free_slots.size();
    RK_CHECK(
        size_class.with_room.contains(address) == !page->free_slots.empty(),
        "pages with room are found, others are not");
    with_room += page->free_slots.empty() ? 0 : 1;
  }
  for (size_t i = 0; i < classes_.size(); ++i) {
    with_room -= classes_[i].with_room.size();
    RK_CHECK(free_slots[i] == classes_[i].free_slots, "free slots are counted");
  }
  RK_CHECK(with_room == 0, "nothing but pages is found");
}

}  // namespace rekindle
