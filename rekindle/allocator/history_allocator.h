// SPDX-License-Identifier: Apache-2.0
// An allocator that remembers what was asked of it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/allocator/snapshot.h"

namespace rekindle {

// Keeps the last `capacity` events of another allocator, which does all the
// work. Thread-compatible.
class HistoryAllocator : public Allocator {
 public:
  HistoryAllocator(std::unique_ptr<Allocator> allocator, size_t capacity)
      : allocator_(std::move(allocator)), capacity_(capacity) {}

  // What the program does from now on, for the events to come.
  void SetFrame(Frame frame) { frame_ = std::move(frame); }

  // A request of so many bytes was given up. (That Allocate found no room is
  // no event: mostly something is evicted then.)
  void RememberOutOfMemory(size_t bytes);

  // Oldest first.
  std::vector<MemoryEvent> events() const {
    return {events_.begin(), events_.end()};
  }

  using Allocator::Allocate;
  using Allocator::Free;
  absl::StatusOr<std::optional<Block>> Allocate(size_t bytes,
                                                Stream stream) override;
  void Free(Block block, absl::Span<const Stream> streams) override;
  void StreamEnded(Stream stream) override { allocator_->StreamEnded(stream); }
  // A move is remembered as an allocation and a free.
  absl::StatusOr<size_t> Compact(size_t bytes, BlockMover& mover) override;

  size_t WorstCaseBytes(size_t bytes) const override {
    return allocator_->WorstCaseBytes(bytes);
  }
  absl::Status SetBudget(size_t bytes) override {
    return allocator_->SetBudget(bytes);
  }
  void AskAgain() override { allocator_->AskAgain(); }
  absl::Status Trim() override { return allocator_->Trim(); }
  AllocatorStats stats() const override { return allocator_->stats(); }
  std::vector<SegmentSnapshot> Snapshot() const override {
    return allocator_->Snapshot();
  }
  void CheckInvariants() const override { allocator_->CheckInvariants(); }

 private:
  class RememberingMover;

  void Remember(MemoryEvent::Action action, Block block);

  const std::unique_ptr<Allocator> allocator_;
  const size_t capacity_;
  Frame frame_;
  std::deque<MemoryEvent> events_;
};

}  // namespace rekindle
