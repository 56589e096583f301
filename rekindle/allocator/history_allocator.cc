// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/history_allocator.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace rekindle {

absl::StatusOr<std::optional<Block>> HistoryAllocator::Allocate(size_t bytes,
                                                                Stream stream) {
  absl::StatusOr<std::optional<Block>> block =
      allocator_->Allocate(bytes, stream);
  RememberMapping();
  if (block.ok() && block->has_value()) {
    Remember(MemoryEvent::Action::kAllocate, **block);
  }
  return block;
}

void HistoryAllocator::RememberOutOfMemory(size_t bytes) {
  Remember(MemoryEvent::Action::kOutOfMemory, {0, bytes});
}

void HistoryAllocator::Free(Block block, absl::Span<const Stream> streams) {
  allocator_->Free(block, streams);
  Remember(MemoryEvent::Action::kFree, block);
  RememberMapping();
}

void HistoryAllocator::StreamEnded(Stream stream) {
  allocator_->StreamEnded(stream);
  RememberMapping();
}

absl::Status HistoryAllocator::SetBudget(size_t bytes) {
  absl::Status status = allocator_->SetBudget(bytes);
  RememberMapping();
  return status;
}

absl::Status HistoryAllocator::Trim() {
  absl::Status status = allocator_->Trim();
  RememberMapping();
  return status;
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
  absl::StatusOr<size_t> gained = allocator_->Compact(bytes, remembering);
  RememberMapping();
  return gained;
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

void HistoryAllocator::RememberMapping() {
  const int64_t vmm_calls = allocator_->stats().vmm_calls;
  if (vmm_calls == vmm_calls_ || capacity_ == 0) return;
  vmm_calls_ = vmm_calls;
  std::vector<Run> mapped;
  for (const SegmentSnapshot& segment : allocator_->Snapshot()) {
    mapped.push_back({segment.address, segment.address + segment.bytes});
  }
  RememberDifference(MemoryEvent::Action::kUnmap, mapped_, mapped);
  RememberDifference(MemoryEvent::Action::kMap, mapped, mapped_);
  mapped_ = std::move(mapped);
}

void HistoryAllocator::RememberDifference(MemoryEvent::Action action,
                                          const std::vector<Run>& runs,
                                          const std::vector<Run>& others) {
  auto first = others.begin();
  for (const Run& run : runs) {
    DeviceAddress at = run.begin;
    while (first != others.end() && first->end <= at) ++first;
    for (auto it = first; it != others.end() && it->begin < run.end; ++it) {
      if (at < it->begin) Remember(action, {at, it->begin - at});
      at = it->end;
    }
    if (at < run.end) Remember(action, {at, run.end - at});
  }
}

}  // namespace rekindle
