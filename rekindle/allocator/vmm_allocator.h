// SPDX-License-Identifier: Apache-2.0
// The device allocator: best fit over addresses whose memory comes and goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/allocator/arena.h"
#include "rekindle/allocator/ledger.h"
#include "rekindle/allocator/slab.h"
#include "rekindle/base/units.h"
#include "rekindle/device/device.h"

namespace rekindle {

struct VmmAllocatorOptions {
  // The most physical memory, in bytes. Only whole chunks of it can be used.
  size_t budget = 0;

  // Size of the chunks that memory is taken and given back in: a multiple of
  // the device's granularity and of 512. 0: the smallest such. Larger chunks
  // mean fewer device calls and more memory lost at the ends of blocks.
  size_t chunk_bytes = 0;

  // Blocks of up to so many bytes lie in as few chunks as they can, larger ones
  // in up to one more, which packs them more densely. 0: one chunk.
  size_t tight_limit = 0;

  // Blocks of up to so many bytes are cut from slab pages. 0: none are.
  size_t small_block_limit = 4 * kKiB;

  // Size of a slab page, a multiple of 512. 0: 64 KiB, or one chunk if that is
  // less, or what one small block needs if that is more.
  size_t slab_page_bytes = 0;
};

// One allocation, step by step:
//   1. Up to small_block_limit bytes: a slot of a slab page with room, at the
//      lowest address; else a new page, which is a block of the arena.
//   2. Else, and if no page fits: a block of the arena, in multiples of 512,
//      the smallest free range of mapped addresses that holds it. No device
//      call so far.
//   3. Else where the fewest chunks are missing; these are created within the
//      budget, or taken from behind addresses where no live block needs them.
//   4. Else nullopt.
//
// Physical memory is what the device was asked for: at no moment is it above
// the budget that was in force when it was created.
// Thread-compatible. Cost of a hit: a few dozen memory accesses.
class VmmAllocator : public Allocator {
 public:
  // `device` must outlive the allocator.
  // Errors: InvalidArgument that names the option; of the device.
  static absl::StatusOr<std::unique_ptr<VmmAllocator>> Create(
      Device& device, const VmmAllocatorOptions& options);

  // Gives everything back to the device, memory of live blocks too.
  // Waits for the streams that were named here.
  // REQUIRES: no later work, and none of other streams, touches the memory.
  ~VmmAllocator() override = default;

  using Allocator::Allocate;
  using Allocator::Free;
  absl::StatusOr<std::optional<Block>> Allocate(size_t bytes,
                                                Stream stream) override;
  void Free(Block block, absl::Span<const Stream> streams) override;
  void StreamEnded(Stream stream) override { arena_.order().End(stream); }

  // Blocks in slab pages move. For a request larger than a page, chunks are
  // emptied before single pages.
  absl::StatusOr<size_t> Compact(size_t bytes, BlockMover& mover) override;

  // In whole chunks: of a slab page for a small block; for others the bytes
  // rounded up, and one chunk more above tight_limit.
  size_t WorstCaseBytes(size_t bytes) const override;

  absl::Status SetBudget(size_t bytes) override;
  void AskAgain() override { arena_.AskAgain(); }
  absl::Status Trim() override;
  AllocatorStats stats() const override;
  std::vector<SegmentSnapshot> Snapshot() const override;
  void CheckInvariants() const override;

 private:
  // A block in a slot. Of the others the handle is the Range*.
  struct SmallBlock {
    size_t bytes = 0;
    SlabPage* page = nullptr;
  };

  VmmAllocator(Device& device, const VmmAllocatorOptions& options);

  bool IsSmall(size_t bytes) const { return bytes <= slabs_.limit(); }
  std::optional<Block> Register(Block block);
  Block SmallBlockAt(DeviceAddress address) const;
  absl::Status MoveSmall(SlabPool::Slot from, SlabPool::Slot to,
                         BlockMover& mover);
  void FreeSmall(Block block, const StreamUse& use);
  void FreeRange(Block block, const StreamUse& use);

  Device& device_;
  Ledger ledger_;
  Arena arena_;
  SlabPool slabs_;
  absl::flat_hash_map<DeviceAddress, SmallBlock> small_;
  int64_t live_blocks_ = 0;
  size_t requested_bytes_ = 0;
  int64_t allocations_ = 0;
  int64_t moved_blocks_ = 0;
};

}  // namespace rekindle
