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
#include "absl/types/span.h"
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

  // Whether nobody relies on the address of this block now, and all work on it
  // comes before what is queued on the default stream from now on.
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
  int64_t vmm_calls = 0;  // create, destroy, map, unmap
  int64_t refusals = 0;  // times the device refused memory, addresses, an event
  int64_t budget_falls = 0;  // times effective_budget became less
  int64_t moved_blocks = 0;  // by Compact
  int64_t emptied_pages = 0;
};

// Stream order. A block is allocated for one stream, whose work may use it at
// once; other streams first wait for that one, as for any work of it. Who frees
// it names the streams; work already queued there may still use the bytes:
//   * given to the same stream again, they need no wait;
//   * given to another, that stream is made to wait by an event, never the
//     host; an event is recorded when it is needed, not when a block is freed;
//   * the memory is unmapped, moved behind other addresses or destroyed only
//     once all that work is done. Memory of which this is known, or what events
//     say, goes first; the host waits only if there is too little of it, which
//     DeviceCounters::synchronize counts.
// So no request that the cache meets waits on the host, unless a lowered budget
// makes memory go back first.
//
// Thread-compatible. All addresses and sizes are bookkeeping: an allocator
// never touches the bytes themselves, but that Compact has the device copy
// them.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // A block of at least `bytes` for work that `stream` queues from now on,
  // aligned to 512 (small blocks: 256), contents
  // undefined. nullopt when no such block fits under the budget as things
  // stand: freeing other blocks may help. A block of 0 bytes has address 0 and
  // takes nothing. Errors: what the device reported, other than that it has no
  // more memory (which is nullopt too).
  virtual absl::StatusOr<std::optional<Block>> Allocate(size_t bytes,
                                                        Stream stream) = 0;
  absl::StatusOr<std::optional<Block>> Allocate(size_t bytes) {
    return Allocate(bytes, Stream());
  }

  // Ends a block. Its bytes may be given to the next Allocate at once.
  // REQUIRES: a live block of this allocator, unchanged. All work that uses it
  // is queued on `streams`, or they wait for it; so do they for the stream that
  // it was allocated for. No streams: no queued work uses it.
  virtual void Free(Block block, absl::Span<const Stream> streams) = 0;
  void Free(Block block, Stream stream) {
    Free(block, absl::MakeConstSpan(&stream, 1));
  }
  void Free(Block block) { Free(block, Stream()); }

  // The stream was destroyed, after all its work. To be told of every stream
  // that was named here: before the next call, and before another stream gets
  // its handle.
  virtual void StreamEnded(Stream stream) = 0;

  // Moves small blocks together until memory of at least `bytes` is free that
  // was not, or until no more can be gained so; whole pages of small blocks,
  // the fewest blocks first. Returns how many bytes that are, 0 if nothing
  // moved. Takes no memory, and no block is under more than it was. The copies
  // are queued on the default stream; the host waits for none, unless a lowered
  // budget makes emptied chunks go back at once. Errors: of the
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
