// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/vmm_allocator.h"

#include <algorithm>
#include <limits>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {
namespace {

constexpr size_t kUsualPage = 64 * kKiB;

absl::Status CheckOptions(const Device& device,
                          const VmmAllocatorOptions& options) {
  const size_t unit = std::max(device.granularity(), Arena::kAlignment);
  if (options.chunk_bytes % unit != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chunk_bytes ", options.chunk_bytes, " is not a multiple of ", unit));
  }
  const size_t page = options.slab_page_bytes;
  if (page != 0 &&
      (page % Arena::kAlignment != 0 || page < options.small_block_limit)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "slab_page_bytes ", page, " is not a multiple of ", Arena::kAlignment,
        " and at least small_block_limit, ", options.small_block_limit));
  }
  if (options.small_block_limit > kMiB) {
    return absl::InvalidArgumentError(absl::StrCat("small_block_limit ",
                                                   options.small_block_limit,
                                                   " is more than 1 MiB"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<VmmAllocator>> VmmAllocator::Create(
    Device& device, const VmmAllocatorOptions& options) {
  RK_RETURN_IF_ERROR(CheckOptions(device, options));
  VmmAllocatorOptions complete = options;
  if (complete.chunk_bytes == 0) {
    complete.chunk_bytes = std::max(device.granularity(), Arena::kAlignment);
  }
  if (complete.slab_page_bytes == 0) {
    const size_t usual =
        RoundUp(std::min(kUsualPage, complete.chunk_bytes), Arena::kAlignment);
    complete.slab_page_bytes =
        std::max(usual, RoundUp(complete.small_block_limit, Arena::kAlignment));
  }
  auto allocator = absl::WrapUnique(new VmmAllocator(device, complete));
  RK_RETURN_IF_ERROR(allocator->arena_.Open());
  return allocator;
}

VmmAllocator::VmmAllocator(Device& device, const VmmAllocatorOptions& options)
    : device_(device),
      ledger_(options.budget),
      arena_(device, ledger_, options.chunk_bytes, options.tight_limit),
      slabs_(arena_, options.small_block_limit, options.slab_page_bytes) {}

absl::StatusOr<std::optional<Block>> VmmAllocator::Allocate(size_t bytes,
                                                            Stream stream) {
  if (bytes == 0) return Block();
  constexpr size_t kMost =
      std::numeric_limits<size_t>::max() - Arena::kAlignment;
  if (bytes > std::min(ledger_.budget(), kMost)) return std::nullopt;
  if (IsSmall(bytes)) {
    RK_ASSIGN_OR_RETURN(const SlabPool::Slot slot,
                        slabs_.Allocate(bytes, stream));
    if (slot.page != nullptr) {
      small_.emplace(slot.address, SmallBlock{bytes, slot.page});
      return Register(SmallBlockAt(slot.address));
    }
  }
  RK_ASSIGN_OR_RETURN(
      Range* const range,
      arena_.Allocate(RoundUp(bytes, Arena::kAlignment), stream));
  if (range == nullptr) return std::nullopt;
  range->requested = bytes;
  return Register({range->address, bytes, reinterpret_cast<uintptr_t>(range)});
}

std::optional<Block> VmmAllocator::Register(Block block) {
  requested_bytes_ += block.bytes;
  ++live_blocks_;
  ++allocations_;
  device_.MarkUsed(block.address, block.bytes);
  return block;
}

Block VmmAllocator::SmallBlockAt(DeviceAddress address) const {
  return {address, small_.at(address).bytes, 0, /*movable=*/true};
}

absl::StatusOr<size_t> VmmAllocator::Compact(size_t bytes, BlockMover& mover) {
  return slabs_.Compact(
      bytes,
      [&](DeviceAddress address) {
        return mover.CanMove(SmallBlockAt(address));
      },
      [&](SlabPool::Slot from, SlabPool::Slot to) {
        return MoveSmall(from, to, mover);
      });
}

absl::Status VmmAllocator::MoveSmall(SlabPool::Slot from, SlabPool::Slot to,
                                     BlockMover& mover) {
  const Block before = SmallBlockAt(from.address);
  const size_t slot_bytes = slabs_.SlotBytes(before.bytes);
  device_.MarkUsed(to.address, before.bytes);
  const absl::Status copied =
      device_.Copy(to.address, from.address, before.bytes, Stream());
  device_.MarkFree(copied.ok() ? from.address : to.address, slot_bytes);
  RK_RETURN_IF_ERROR(copied);
  small_.erase(from.address);
  small_.emplace(to.address, SmallBlock{before.bytes, to.page});
  ++moved_blocks_;
  mover.Moved(before, SmallBlockAt(to.address));
  return absl::OkStatus();
}

void VmmAllocator::Free(Block block, absl::Span<const Stream> streams) {
  if (block.bytes == 0) return;
  const StreamUse use = arena_.order().Use(streams);
  if (block.handle == 0) {
    FreeSmall(block, use);
  } else {
    FreeRange(block, use);
  }
  requested_bytes_ -= block.bytes;
  --live_blocks_;
}

void VmmAllocator::FreeSmall(Block block, const StreamUse& use) {
  const auto found = small_.find(block.address);
  RK_CHECK(found != small_.end() && found->second.bytes == block.bytes,
           "a live block of this allocator, unchanged");
  SlabPage* const page = found->second.page;
  small_.erase(found);
  device_.MarkFree(block.address, slabs_.SlotBytes(block.bytes));
  slabs_.Free({page, block.address}, use);
}

void VmmAllocator::FreeRange(Block block, const StreamUse& use) {
  Range* const range = reinterpret_cast<Range*>(block.handle);
  RK_CHECK(range->state == RangeState::kLive &&
               range->address == block.address &&
               range->requested == block.bytes,
           "a live block of this allocator, unchanged");
  range->requested = 0;
  device_.MarkFree(block.address, range->bytes);
  arena_.Free(range, use);
}

size_t VmmAllocator::WorstCaseBytes(size_t bytes) const {
  if (bytes == 0) return 0;
  return arena_.WorstCaseBytes(IsSmall(bytes) ? slabs_.page_bytes() : bytes);
}

absl::Status VmmAllocator::SetBudget(size_t bytes) {
  ledger_.SetBudget(bytes);
  arena_.ForgetRefusal();
  return arena_.GiveBackExcess();
}

absl::Status VmmAllocator::Trim() { return arena_.Trim(); }

AllocatorStats VmmAllocator::stats() const {
  AllocatorStats stats;
  stats.budget = ledger_.budget();
  stats.effective_budget = arena_.effective_budget();
  stats.requested_bytes = requested_bytes_;
  stats.reserved_bytes = arena_.live_bytes();
  stats.live_physical_bytes = arena_.live_physical_bytes();
  stats.physical_bytes = ledger_.used();
  stats.peak_physical_bytes = ledger_.peak();
  stats.live_blocks = live_blocks_;
  stats.allocations = allocations_;
  stats.vmm_calls = arena_.vmm_calls();
  stats.refusals = arena_.refusals();
  stats.budget_falls = arena_.budget_falls();
  stats.moved_blocks = moved_blocks_;
  stats.emptied_pages = slabs_.emptied_pages();
  return stats;
}

std::vector<SegmentSnapshot> VmmAllocator::Snapshot() const {
  std::vector<SegmentSnapshot> segments = arena_.Snapshot();
  for (SegmentSnapshot& segment : segments) {
    std::vector<BlockSnapshot> blocks;
    for (const BlockSnapshot& block : segment.blocks) {
      std::vector<BlockSnapshot> slots = slabs_.Snapshot(block.address);
      if (slots.empty()) blocks.push_back(block);
      for (BlockSnapshot& slot : slots) {
        if (slot.live) slot.requested_bytes = small_.at(slot.address).bytes;
        blocks.push_back(slot);
      }
    }
    segment.blocks = std::move(blocks);
  }
  return segments;
}

void VmmAllocator::CheckInvariants() const {
  arena_.CheckInvariants();
  slabs_.CheckInvariants();
  size_t requested = 0;
  auto blocks = static_cast<int64_t>(small_.size());
  for (const auto& [address, small] : small_) requested += small.bytes;
  arena_.VisitLive([&](const Range& range) {
    requested += range.requested;
    blocks += range.requested > 0 ? 1 : 0;
    RK_CHECK(range.requested <= range.bytes, "a block lies in its range");
  });
  RK_CHECK(blocks == live_blocks_, "blocks are counted");
  RK_CHECK(requested == requested_bytes_, "requested bytes are counted");
  RK_CHECK(ledger_.used() <= ledger_.budget() ||
               ledger_.used() >= arena_.live_physical_bytes(),
           "physical memory covers the live blocks");
}

}  // namespace rekindle
