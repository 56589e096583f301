// SPDX-License-Identifier: Apache-2.0
// Blocks in one address space, backed by chunks that come and go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/allocator/address_map.h"
#include "rekindle/allocator/chunk_table.h"
#include "rekindle/allocator/ledger.h"
#include "rekindle/allocator/placement_history.h"
#include "rekindle/allocator/placer.h"
#include "rekindle/allocator/snapshot.h"
#include "rekindle/allocator/stream_order.h"
#include "rekindle/device/device.h"

namespace rekindle {

// The memory behind free blocks stays mapped as a cache: while requests fit
// into it, no device call is made. A chunk that no live block touches is idle.
// A request that does not fit the cache is put where the fewest chunks are
// missing, and those are got, in this order,
//   1. by creating chunks, while the budget and the device have room;
//   2. by taking idle chunks from behind other addresses.
// Once chunks had to be moved, a request that is taken for an earlier one come
// back is put where that one lay, or else clear of the addresses that others
// will come back to while it lives (PlacementHistory): a loop settles into a
// layout that needs no more device calls.
//
// Any chunk can back any address and addresses are plenty, so a request fails
// only when the chunks under live blocks and those it needs are together more
// than the budget, or than the device has.
//
// A chunk is taken from behind its addresses only once all work of the streams
// that used them is done. Chunks for which this is known, or what events say,
// are taken first; else the host waits.
//
// Should the device refuse a chunk that the budget has room for (another
// process took the memory), the effective budget is what was held then. More is
// not asked for until ForgetRefusal or AskAgain, or kRequestsBetweenAsks
// requests later, of those that the cache does not meet; as soon as the device
// gives more, the budget is in force again. What was given back is asked for as
// usual.
//
// Everything that a failed request created is given back; cached chunks may
// have lost their addresses. Thread-compatible.
class Arena {
 public:
  // The unit of splitting and the alignment of blocks.
  static constexpr size_t kAlignment = 512;
  // One refused request for memory among so many that evict or move something
  // is not felt.
  static constexpr int64_t kRequestsBetweenAsks = 128;

  // `tight_limit`: see Placer; at least one chunk.
  // REQUIRES: chunk_bytes is a multiple of the device's granularity and of
  // kAlignment. Both `device` and `ledger` outlive the arena.
  Arena(Device& device, Ledger& ledger, size_t chunk_bytes, size_t tight_limit);
  // Waits for all streams that were named.
  ~Arena() { order_.FinishAll(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Reserves the first addresses. Once, before anything else.
  absl::Status Open();

  // A live range of exactly `bytes` for `stream`, whose later work comes after
  // all earlier uses; nullptr if it does not fit. (For other streams it does
  // not: they must wait for the `use` of the range.)
  // REQUIRES: bytes is a positive multiple of kAlignment.
  // Cost: O(log n) in the cache; else device calls.
  absl::StatusOr<Range*> Allocate(size_t bytes, Stream stream);

  // Ends a live range that was in `use`; if nobody used it, it is still in the
  // use that it was before. If physical memory is above the budget, idle chunks
  // go back to the device; should that fail, the next call tries again.
  void Free(Range* range, const StreamUse& use);

  // Destroys idle and spare chunks until the budget is kept or none is left.
  absl::Status GiveBackExcess();

  // Destroys all idle and spare chunks.
  absl::Status Trim();

  // The order of all streams that use blocks of this arena.
  StreamOrder& order() { return order_; }

  size_t chunk_bytes() const { return chunks_.chunk_bytes(); }
  size_t live_bytes() const { return map_.live_bytes(); }
  // Memory under live blocks.
  size_t live_physical_bytes() const { return live_chunks() * chunk_bytes(); }
  int64_t vmm_calls() const { return chunks_.vmm_calls(); }
  // Times the device had no more of what the budget allowed.
  int64_t refusals() const { return refusals_; }
  // The budget, or what was held when the device refused more.
  size_t effective_budget() const {
    return std::min(ledger_.budget(), refused_at_);
  }
  // Times that became less by a refusal.
  int64_t budget_falls() const { return budget_falls_; }
  // Lets the next request ask the device for all that the budget allows.
  void ForgetRefusal() { refused_at_ = kNotRefused; }
  // The same, but the effective budget stays until the device gives more.
  void AskAgain() { requests_since_ask_ = kRequestsBetweenAsks; }

  // The most memory that can lie under a range of `bytes`.
  size_t WorstCaseBytes(size_t bytes) const;

  // Shows `visit` every live range.
  template <typename Visit>
  void VisitLive(Visit visit) const {
    for (const Range* first : map_.regions()) {
      for (const Range* range = first->next; range->next != nullptr;
           range = range->next) {
        if (!range->free()) visit(*range);
      }
    }
  }

  // Live blocks that are pages of slabs have no requested_bytes.
  std::vector<SegmentSnapshot> Snapshot() const;

  // Aborts unless all bookkeeping agrees. Slow; for tests.
  void CheckInvariants() const;

 private:
  // A part of a placement while its memory is being got: live for the time
  // being, so that nothing else can have it.
  struct Claim {
    Range* range;
    RangeState before;
    bool mapped;
  };
  using Claims = absl::InlinedVector<Claim, 4>;

  size_t live_chunks() const { return chunks_.mapped() - map_.idle_chunks(); }

  std::optional<Placement> FindMapped(size_t bytes, Stream stream);
  Intervals WantedLater(const PlacementHistory::Entry& entry) const;
  std::vector<Range*> LargestIdle(size_t count) const;
  absl::StatusOr<std::vector<Range*>> ChooseIdle(size_t count);

  absl::StatusOr<Range*> AllocateAfterWait(const Placement& placement,
                                           size_t bytes, Stream stream);
  absl::StatusOr<Range*> AllocateUnmapped(size_t bytes, Stream stream);
  absl::StatusOr<std::optional<Placement>> Place(size_t bytes,
                                                 size_t max_chunks);
  absl::StatusOr<Range*> Back(const Placement& placement, size_t bytes,
                              Stream stream);
  Claims MakeClaims(const Placement& placement, size_t bytes);
  absl::Status WaitForUses(const Claims& claims, Stream stream);
  absl::Status MapClaims(Claims& claims);
  void Unclaim(const Claims& claims);

  size_t MayHold();
  absl::StatusOr<bool> CreateSpare(size_t count, size_t may_hold);
  void NoteRefusal();
  absl::Status UnmapIdle(size_t count);
  absl::Status DestroySpare(size_t count);
  absl::Status Grow(size_t bytes);

  Device& device_;
  Ledger& ledger_;
  StreamOrder order_;
  ChunkTable chunks_;
  AddressMap map_;
  Placer placer_;
  PlacementHistory history_;
  bool moved_ = false;  // chunks were taken from behind addresses
  int64_t refusals_ = 0;
  static constexpr size_t kNotRefused = std::numeric_limits<size_t>::max();
  size_t refused_at_ = kNotRefused;  // bytes held when the device refused more
  int64_t requests_since_ask_ = 0;
  int64_t budget_falls_ = 0;
};

}  // namespace rekindle
