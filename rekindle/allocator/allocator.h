// SPDX-License-Identifier: Apache-2.0
// What the engine needs of a device allocator. The engine decides what to give
// up; an allocator decides which addresses and which physical memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/allocator/snapshot.h"
#include "rekindle/device/device.h"

namespace rekindle {

// A live range of device memory. `bytes` is what was asked for; the allocator
// may have set aside more. `handle` is the allocator's: how it finds the rest.
// `movable`: Compact may move it.
struct Block {
  DeviceAddress address = 0;
  size_t bytes = 0;
  uintptr_t handle = 0;
  bool movable = false;
};

// Says which live blocks may move, and learns where they went.
class BlockMover {
 public:
  virtual ~BlockMover() = default;

  // Whether nobody relies on the address of this block now.
  virtual bool CanMove(const Block& block) = 0;

  // `from` has become `to`; its bytes are there for all work queued on the
  // default stream from now on.
  virtual void Moved(const Block& from, const Block& to) = 0;
};

struct AllocatorStats {
  size_t budget = 0;
  // The budget, or less: what the device was seen to have of it.
  size_t effective_budget = 0;
  size_t requested_bytes = 0;      // sum of `bytes` of the live blocks
  size_t reserved_bytes = 0;       // the same with rounding and slab waste
  size_t live_physical_bytes = 0;  // physical memory under live blocks
  size_t physical_bytes = 0;       // the same and what is cached
  size_t peak_physical_bytes = 0;  // never above the budget in force then
  int64_t live_blocks = 0;
  int64_t allocations = 0;
  int64_t vmm_calls = 0;     // create, destroy, map, unmap
  int64_t refusals = 0;      // times the device had less than the budget allows
  int64_t budget_falls = 0;  // times effective_budget became less
  int64_t moved_blocks = 0;  // by Compact
  int64_t emptied_pages = 0;
};

// Thread-compatible. All addresses and sizes are bookkeeping: an allocator
// never touches the bytes themselves, but that Compact has the device copy
// them.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // A block of at least `bytes`, aligned to 512 (small blocks: 256), contents
  // undefined. nullopt when no such block fits under the budget as things
  // stand: freeing other blocks may help. A block of 0 bytes has address 0 and
  // takes nothing. Errors: what the device reported, other than that it has no
  // more memory (which is nullopt too).
  virtual absl::StatusOr<std::optional<Block>> Allocate(size_t bytes) = 0;

  // Ends a block. Its bytes may be given to the next Allocate at once: work
  // already queued on the device's default stream runs before any that is
  // queued later. REQUIRES: a live block of this allocator, unchanged.
  virtual void Free(Block block) = 0;

  // Moves small blocks together until memory of at least `bytes` is free that
  // was not, or until no more can be gained so; whole pages of small blocks,
  // the fewest blocks first. Returns how many bytes that are, 0 if nothing
  // moved. Takes no memory, and no block is under more than it was. The copies
  // are queued on the default stream; the host waits for none. Errors: of the
  // device: blocks that moved before a failed copy are in their new places, all
  // others where they were.
  // Cost: nearly none if nothing can be gained whatever may move; else
  // O(p log p) in the pages, a question for each block of those it would empty
  // and a copy for each that moves.
  virtual absl::StatusOr<size_t> Compact(size_t bytes, BlockMover& mover) = 0;

  // The most physical memory that can lie under one block of `bytes`, wherever
  // it is put. If live_physical_bytes and this sum for further blocks stay
  // under the budget, these blocks can be had, one after another; and however
  // the blocks now live came to lie, they are under no more than their sum.
  virtual size_t WorstCaseBytes(size_t bytes) const = 0;

  // Limits physical memory from now on. Cached memory above the new budget is
  // given back at once; live blocks are not touched, so physical memory can
  // stay above until enough of them are freed, and until then nothing is
  // allocated. Errors: of the device.
  virtual absl::Status SetBudget(size_t bytes) = 0;

  // The next request may ask the device for more than effective_budget, as one
  // does now and then anyway.
  virtual void AskAgain() = 0;

  // Gives all cached memory back to the device. Errors: of the device.
  virtual absl::Status Trim() = 0;

  virtual AllocatorStats stats() const = 0;

  // All memory behind addresses and what lies in it, by address.
  virtual std::vector<SegmentSnapshot> Snapshot() const = 0;

  // Aborts with a description unless all bookkeeping agrees. Slow; for tests.
  virtual void CheckInvariants() const = 0;
};

}  // namespace rekindle
