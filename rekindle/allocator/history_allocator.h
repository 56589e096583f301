// SPDX-License-Identifier: Apache-2.0
// An allocator that remembers what was asked of it.
#pragma once

#include <cstddef>
#include <cstdint>
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
// work. What was mapped and unmapped is seen by comparing: all of one call, as
// it differs before and after, unmapped first; before the block that the call
// allocates and after the one that it frees. Thread-compatible.
// Cost: a Snapshot for each call in which the allocator maps or unmaps.
class HistoryAllocator : public Allocator {
 public:
  // REQUIRES: nothing is mapped yet.
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
  void StreamEnded(Stream stream) override;
  // A move is remembered as an allocation and a free.
  absl::StatusOr<size_t> Compact(size_t bytes, BlockMover& mover) override;

  size_t WorstCaseBytes(size_t bytes) const override {
    return allocator_->WorstCaseBytes(bytes);
  }
  absl::Status SetBudget(size_t bytes) override;
  void AskAgain() override { allocator_->AskAgain(); }
  absl::Status Trim() override;
  AllocatorStats stats() const override { return allocator_->stats(); }
  std::vector<SegmentSnapshot> Snapshot() const override {
    return allocator_->Snapshot();
  }
  void CheckInvariants() const override { allocator_->CheckInvariants(); }

 private:
  class RememberingMover;

  // Addresses with memory behind them.
  struct Run {
    DeviceAddress begin = 0;
    DeviceAddress end = 0;
  };

  void Remember(MemoryEvent::Action action, Block block);
  void RememberMapping();
  // What of `runs` lies in none of `others`; both by address.
  void RememberDifference(MemoryEvent::Action action,
                          const std::vector<Run>& runs,
                          const std::vector<Run>& others);

  const std::unique_ptr<Allocator> allocator_;
  const size_t capacity_;
  Frame frame_;
  std::deque<MemoryEvent> events_;
  std::vector<Run> mapped_;  // after so many calls
  int64_t vmm_calls_ = 0;
};

}  // namespace rekindle
