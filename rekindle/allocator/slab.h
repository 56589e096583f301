// SPDX-License-Identifier: Apache-2.0
// Small blocks, cut from pages of one size each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/allocator/arena.h"
#include "rekindle/allocator/slab_compaction.h"
#include "rekindle/allocator/snapshot.h"
#include "rekindle/device/device.h"

namespace rekindle {

// A block of an arena cut into slots of one size class.
struct SlabPage {
  Range* range = nullptr;
  size_t size_class = 0;
  std::vector<uint32_t> free_slots;  // the last is taken first
  size_t slots = 0;
  StreamUse use;          // of its free slots, now or before it was a page
  bool emptying = false;  // gets no new blocks
};

// Blocks of up to `limit` bytes without a chunk, or even 512 bytes, each. Size
// classes are multiples of 256 that grow by a quarter or a half; a request
// takes the smallest that holds it. Of several pages with room the one at the
// lowest address is used, so that the others empty; a page without blocks goes
// back to the arena at once. Of the first few pages with room, one that needs
// no wait for other streams is used if there is one. Thread-compatible.
class SlabPool {
 public:
  static constexpr size_t kAlignment = 256;

  // REQUIRES: page_bytes is a multiple of Arena::kAlignment and at least
  // `limit` rounded up to kAlignment. `arena` outlives the pool.
  SlabPool(Arena& arena, size_t limit, size_t page_bytes);
  SlabPool(const SlabPool&) = delete;
  SlabPool& operator=(const SlabPool&) = delete;

  size_t limit() const { return limit_; }
  size_t page_bytes() const { return page_bytes_; }

  struct Slot {
    SlabPage* page = nullptr;
    DeviceAddress address = 0;
  };

  // A free slot for `bytes` and for `stream`, as Arena::Allocate; page is
  // nullptr if the arena has no room for a new page, or the device for the
  // event that a wait needs.
  // REQUIRES: 0 < bytes <= limit.
  absl::StatusOr<Slot> Allocate(size_t bytes, Stream stream);

  // Ends a block that Allocate returned and that was in `use`.
  void Free(Slot slot, const StreamUse& use);

  // Empties pages by moving their blocks to free slots of others, until pages
  // of `bytes` have gone back to the arena or no more can (see PagesToEmpty).
  // Returns the bytes of those that have. `can_move` says whether the block at
  // an address may move; `move` moves it. An error of `move` ends it: that
  // block and those after it stay where they are.
  absl::StatusOr<size_t> Compact(
      size_t bytes, absl::FunctionRef<bool(DeviceAddress)> can_move,
      absl::FunctionRef<absl::Status(Slot from, Slot to)> move);

  int64_t emptied_pages() const { return emptied_pages_; }  // by Compact

  // The slots of the page at this address, in order; empty if there is none.
  std::vector<BlockSnapshot> Snapshot(DeviceAddress page) const;

  // Bytes of the slot that a block of `bytes` gets.
  size_t SlotBytes(size_t bytes) const;

  // Aborts unless all bookkeeping agrees. Slow; for tests.
  void CheckInvariants() const;

 private:
  size_t ClassOf(size_t bytes) const;
  Slot TakeSlot(SlabPage& page);

  bool CouldEmptyAPage() const;
  std::vector<PageUse> PageUses() const;
  bool HasOnlyPages(const Range& page) const;
  std::vector<DeviceAddress> LiveSlots(const SlabPage& page) const;
  void SetEmptying(SlabPage& page, bool emptying);
  absl::Status Empty(SlabPage& page,
                     absl::FunctionRef<absl::Status(Slot from, Slot to)> move);

  struct SizeClass {
    size_t bytes = 0;
    size_t free_slots = 0;  // of all its pages
    absl::btree_map<DeviceAddress, SlabPage*> with_room;
  };

  SlabPage* ChoosePage(const SizeClass& size_class, Stream stream);
  absl::StatusOr<SlabPage*> NewPage(size_t size_class, Stream stream);

  Arena& arena_;
  const size_t limit_;
  const size_t page_bytes_;
  std::vector<SizeClass> classes_;
  int64_t emptied_pages_ = 0;
  std::vector<uint8_t> class_of_;  // by size in units of kAlignment, less one
  absl::btree_map<DeviceAddress, std::unique_ptr<SlabPage>> pages_;
};

}  // namespace rekindle
