// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/arena.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

// Addresses cost nothing; with many times the memory, free stretches long
// enough for any request are hardly ever missing.
constexpr size_t kAddressesPerByte = 8;

// How many later blocks are looked at, and sorted, to keep clear of them.
constexpr uint64_t kMostWanted = 16384;

}  // namespace

Arena::Arena(Device& device, Ledger& ledger, size_t chunk_bytes,
             size_t tight_limit)
    : device_(device),
      ledger_(ledger),
      order_(device),
      chunks_(device, ledger, chunk_bytes),
      map_(chunk_bytes),
      placer_(map_, std::max(tight_limit, chunk_bytes)) {
  RK_CHECK(
      chunk_bytes % device.granularity() == 0 && chunk_bytes % kAlignment == 0,
      "chunks are aligned");
}

absl::Status Arena::Open() { return Grow(chunk_bytes()); }

// Adds a region of at least `bytes`, larger if the device has the addresses.
absl::Status Arena::Grow(size_t bytes) {
  const size_t memory = std::min(ledger_.budget(), device_.memory_info().total);
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  for (size_t factor = kAddressesPerByte;; factor /= 2) {
    if (factor > 0 && memory > kMost / factor) continue;
    size_t size = std::max(memory * factor, bytes);
    const absl::StatusOr<DeviceAddress> address = chunks_.AddRegion(size);
    if (address.ok()) {
      map_.AddRegion(*address, size);
      return absl::OkStatus();
    }
    if (factor == 0 || !absl::IsResourceExhausted(address.status())) {
      return address.status();
    }
  }
}

// The worst start is one alignment unit before the end of a chunk.
size_t Arena::WorstCaseBytes(size_t bytes) const {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  if (bytes > kMost - 2 * chunk_bytes()) return kMost;
  return placer_.MostChunks(RoundUp(bytes, kAlignment), kAlignment) *
         chunk_bytes();
}

absl::StatusOr<Range*> Arena::Allocate(size_t bytes, Stream stream) {
  const absl::Status gave_back = GiveBackExcess();
  if (absl::IsResourceExhausted(gave_back)) {
    ++refusals_;  // of an event
    return nullptr;
  }
  RK_RETURN_IF_ERROR(gave_back);
  // Above a lowered budget even a block that needs no more memory would keep
  // chunks from being given back.
  if (live_physical_bytes() > ledger_.budget()) return nullptr;
  const size_t live_before = map_.live_bytes();
  Range* range = nullptr;
  const std::optional<Placement> found = FindMapped(bytes, stream);
  if (found.has_value() && !order_.NeedsWait(found->first->use, stream)) {
    range = map_.Assign(found->first, found->address, bytes, RangeState::kLive);
  } else {
    const absl::StatusOr<Range*> got =
        found.has_value() ? AllocateAfterWait(*found, bytes, stream)
                          : AllocateUnmapped(bytes, stream);
    if (absl::IsResourceExhausted(got.status())) {
      ++refusals_;  // of addresses, mappings or events
      return nullptr;
    }
    RK_ASSIGN_OR_RETURN(range, got);
    if (range == nullptr) return nullptr;
  }
  range->birth = history_.Record(live_before, bytes, range->address);
  return range;
}

absl::StatusOr<Range*> Arena::AllocateAfterWait(const Placement& placement,
                                                size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(order_.Wait(placement.first->use, stream));
  return map_.Assign(placement.first, placement.address, bytes,
                     RangeState::kLive);
}

// Until memory had to be moved, best fit repeats itself without help. Of ranges
// of one size, one that needs no wait is as good or better.
std::optional<Placement> Arena::FindMapped(size_t bytes, Stream stream) {
  if (moved_) {
    const auto past = history_.Recall(map_.live_bytes(), bytes);
    if (past.has_value()) {
      const auto again = placer_.FindAt(past->address, bytes);
      if (again.has_value()) return again;
      const auto clear = placer_.FindClear(bytes, WantedLater(*past));
      if (clear.has_value()) return clear;
    }
  }
  const auto best = placer_.FindMapped(bytes);
  const auto needs_wait = [&](const Range& range) {
    return order_.NeedsWait(range.use, stream);
  };
  if (!best.has_value() || !needs_wait(*best->first)) return best;
  const auto twin = placer_.FindTwin(
      *best, bytes, [&](const Range& range) { return !needs_wait(range); });
  return twin.has_value() ? twin : best;
}

// The addresses that blocks will go back to while this one lives.
Intervals Arena::WantedLater(const PlacementHistory::Entry& entry) const {
  Intervals all;
  history_.VisitLater(
      entry, kMostWanted, [&](const PlacementHistory::Entry& later) {
        all.push_back({later.address, later.address + later.bytes});
      });
  std::sort(all.begin(), all.end(), [](const Interval& a, const Interval& b) {
    return a.begin < b.begin;
  });
  Intervals apart;
  for (const Interval& next : all) {
    if (apart.empty() || next.begin > apart.back().end) {
      apart.push_back(next);
    } else {
      apart.back().end = std::max(apart.back().end, next.end);
    }
  }
  return apart;
}

absl::StatusOr<Range*> Arena::AllocateUnmapped(size_t bytes, Stream stream) {
  const size_t created_before = chunks_.created();
  absl::Cleanup unwind = [this, created_before] {
    const size_t created = chunks_.created();
    if (created <= created_before) return;
    DestroySpare(created - created_before).IgnoreError();
  };
  const size_t may_hold = MayHold();
  RK_ASSIGN_OR_RETURN(std::optional<Placement> placement,
                      Place(bytes, may_hold / chunk_bytes()));
  if (!placement.has_value()) return nullptr;
  RK_ASSIGN_OR_RETURN(const bool refused,
                      CreateSpare(placement->unmapped_chunks, may_hold));
  if (refused) {
    NoteRefusal();
    RK_ASSIGN_OR_RETURN(placement, Place(bytes, chunks_.created()));
    if (!placement.has_value()) return nullptr;
  }
  RK_ASSIGN_OR_RETURN(Range* const range, Back(*placement, bytes, stream));
  std::move(unwind).Cancel();
  return range;
}

// A placement with which no more than `max_chunks` would be under live blocks.
absl::StatusOr<std::optional<Placement>> Arena::Place(size_t bytes,
                                                      size_t max_chunks) {
  const size_t max_new = max_chunks - std::min(max_chunks, live_chunks());
  std::optional<Placement> placement = placer_.FindAny(bytes, max_new);
  if (placement.has_value() || bytes > max_new * chunk_bytes()) {
    return placement;
  }
  // Live blocks have cut all addresses into stretches that are too short.
  RK_RETURN_IF_ERROR(Grow(bytes));
  return placer_.FindAny(bytes, max_new);
}

// The most memory that a request which the cache does not meet may bring us to.
size_t Arena::MayHold() {
  if (effective_budget() == ledger_.budget()) return ledger_.budget();
  if (++requests_since_ask_ < kRequestsBetweenAsks) return effective_budget();
  requests_since_ask_ = 0;
  return ledger_.budget();
}

// Creates chunks until `count` are spare or no more may be held. True if the
// device refused one.
absl::StatusOr<bool> Arena::CreateSpare(size_t count, size_t may_hold) {
  while (chunks_.spare() < count &&
         ledger_.used() + chunk_bytes() <= may_hold) {
    RK_ASSIGN_OR_RETURN(const bool created, chunks_.Create());
    if (!created) return true;
    if (ledger_.used() > refused_at_) ForgetRefusal();
  }
  return false;
}

void Arena::NoteRefusal() {
  ++refusals_;
  if (ledger_.used() < effective_budget()) ++budget_falls_;
  refused_at_ = ledger_.used();
  requests_since_ask_ = 0;
}

// Gets memory behind all of a placement and makes it one live range.
absl::StatusOr<Range*> Arena::Back(const Placement& placement, size_t bytes,
                                   Stream stream) {
  Claims claims = MakeClaims(placement, bytes);
  absl::Cleanup unclaim = [this, &claims] { Unclaim(claims); };
  RK_RETURN_IF_ERROR(WaitForUses(claims, stream));
  const size_t spare = chunks_.spare();
  if (spare < placement.unmapped_chunks) {
    RK_RETURN_IF_ERROR(UnmapIdle(placement.unmapped_chunks - spare));
  }
  RK_RETURN_IF_ERROR(MapClaims(claims));
  std::move(unclaim).Cancel();
  Range* range = nullptr;
  for (const Claim& claim : claims) {
    range = map_.Assign(claim.range, RangeState::kCached);
  }
  return map_.Assign(range, placement.address, bytes, RangeState::kLive);
}

// Unmapped parts are claimed in whole chunks, cached ones as far as needed.
Arena::Claims Arena::MakeClaims(const Placement& placement, size_t bytes) {
  const DeviceAddress begin = placement.address;
  const DeviceAddress end = begin + bytes;
  Claims claims;
  for (Range* range = placement.first; range->free() && range->address < end;
       range = range->next) {
    const RangeState before = range->state;
    const size_t unit =
        before == RangeState::kUnmapped ? chunk_bytes() : kAlignment;
    const DeviceAddress from = std::max(range->address, RoundDown(begin, unit));
    const DeviceAddress to = std::min(range->end(), RoundUp(end, unit));
    range = map_.Assign(range, from, to - from, RangeState::kLive);
    claims.push_back({range, before, false});
  }
  return claims;
}

absl::Status Arena::WaitForUses(const Claims& claims, Stream stream) {
  for (const Claim& claim : claims) {
    RK_RETURN_IF_ERROR(order_.Wait(claim.range->use, stream));
  }
  return absl::OkStatus();
}

absl::Status Arena::MapClaims(Claims& claims) {
  for (Claim& claim : claims) {
    if (claim.before != RangeState::kUnmapped) continue;
    const Range& range = *claim.range;
    RK_RETURN_IF_ERROR(chunks_.Map(range.address, range.bytes));
    claim.mapped = true;
    device_.MarkFree(range.address, range.bytes);
  }
  return absl::OkStatus();
}

// Undoes MakeClaims and MapClaims. Memory that cannot be unmapped is cached.
void Arena::Unclaim(const Claims& claims) {
  for (const Claim& claim : claims) {
    Range* const range = claim.range;
    const bool stuck =
        claim.mapped && !chunks_.Unmap(range->address, range->bytes).ok();
    map_.Assign(range, stuck ? RangeState::kCached : claim.before);
  }
}

void Arena::Free(Range* range, const StreamUse& use) {
  history_.End(range->birth);
  if (!use.none()) range->use = use;
  map_.Assign(range, RangeState::kCached);
  if (ledger_.excess() > 0) GiveBackExcess().IgnoreError();
}

std::vector<SegmentSnapshot> Arena::Snapshot() const {
  std::vector<SegmentSnapshot> segments;
  for (const Range* region : map_.regions()) {
    bool within = false;
    for (const Range* range = region->next; range->next != nullptr;
         range = range->next) {
      const bool mapped = range->state != RangeState::kUnmapped;
      if (mapped && !within) segments.push_back({range->address, 0, {}});
      within = mapped;
      if (!mapped) continue;
      segments.back().bytes += range->bytes;
      segments.back().blocks.push_back(
          {range->address, range->bytes, range->requested, !range->free()});
    }
  }
  std::sort(segments.begin(), segments.end(),
            [](const SegmentSnapshot& a, const SegmentSnapshot& b) {
              return a.address < b.address;
            });
  return segments;
}

void Arena::CheckInvariants() const {
  map_.CheckInvariants();
  chunks_.CheckInvariants();
  order_.CheckInvariants();
  for (const Range* region : map_.regions()) {
    for (const Range* range = region->next; range->next != nullptr;
         range = range->next) {
      const bool mapped = range->state != RangeState::kUnmapped;
      for (DeviceAddress chunk = RoundDown(range->address, chunk_bytes());
           chunk < range->end(); chunk += chunk_bytes()) {
        RK_CHECK(chunks_.IsMapped(chunk) == mapped,
                 "exactly the unmapped ranges have no memory");
      }
    }
  }
}

}  // namespace rekindle
