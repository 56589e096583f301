// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/history_allocator.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {

absl::StatusOr<std::optional<Block>> HistoryAllocator::Allocate(size_t bytes,
                                                                Stream stream) {
  RK_ASSIGN_OR_RETURN(const std::optional<Block> block,
                      allocator_->Allocate(bytes, stream));
  if (block.has_value()) Remember(MemoryEvent::Action::kAllocate, *block);
  return block;
}

void HistoryAllocator::RememberOutOfMemory(size_t bytes) {
  Remember(MemoryEvent::Action::kOutOfMemory, {0, bytes});
}

void HistoryAllocator::Free(Block block, absl::Span<const Stream> streams) {
  allocator_->Free(block, streams);
  Remember(MemoryEvent::Action::kFree, block);
}

class HistoryAllocator::RememberingMover : public BlockMover {
 public:
  RememberingMover(HistoryAllocator& history, BlockMover& mover)
      : history_(history), mover_(mover) {}

  bool CanMove(const Block& block) override { return mover_.CanMove(block); }
  void Moved(const Block& from, const Block& to) override {
    history_.Remember(MemoryEvent::Action::kAllocate, to);
    history_.Remember(MemoryEvent::Action::kFree, from);
    mover_.Moved(from, to);
  }

 private:
  HistoryAllocator& history_;
  BlockMover& mover_;
};

absl::StatusOr<size_t> HistoryAllocator::Compact(size_t bytes,
                                                 BlockMover& mover) {
  RememberingMover remembering(*this, mover);
  return allocator_->Compact(bytes, remembering);
}

void HistoryAllocator::Remember(MemoryEvent::Action action, Block block) {
  if (block.bytes == 0 || capacity_ == 0) return;
  if (events_.size() == capacity_) events_.pop_front();
  size_t free_bytes = 0;
  if (action == MemoryEvent::Action::kOutOfMemory) {
    const AllocatorStats stats = allocator_->stats();
    free_bytes = stats.effective_budget -
                 std::min(stats.effective_budget, stats.live_physical_bytes);
  }
  events_.push_back({action, block.address, block.bytes, free_bytes,
                     absl::GetCurrentTimeNanos() / 1000, frame_});
}

}  // namespace rekindle
