// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/bfc_allocator.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/types/span.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {
namespace {

constexpr int kSmallPool = 0;
constexpr int kLargePool = 1;

constexpr size_t kAlignment = 512;
constexpr size_t kLargestSmall = kMiB;
constexpr size_t kSmallSegment = 2 * kMiB;
constexpr size_t kMediumSegment = 20 * kMiB;
constexpr size_t kLargestMedium = 10 * kMiB;  // not included
constexpr size_t kLargeUnit = 2 * kMiB;

int PoolOf(size_t bytes) {
  return bytes <= kLargestSmall ? kSmallPool : kLargePool;
}

bool IsWorthSplitting(int pool, size_t rest) {
  return pool == kSmallPool ? rest >= kAlignment : rest > kMiB;
}

}  // namespace

absl::StatusOr<std::unique_ptr<BfcAllocator>> BfcAllocator::Create(
    Device& device, const BfcAllocatorOptions& options) {
  return absl::WrapUnique(new BfcAllocator(device, options.budget));
}

BfcAllocator::~BfcAllocator() {
  order_.FinishAll();
  for (const auto& [address, segment] : segments_) {
    device_.Unmap(address, segment->bytes).IgnoreError();
    device_.Destroy(segment->chunk).IgnoreError();
    device_.Release(address, segment->bytes).IgnoreError();
  }
  // Every piece is free or live.
  for (const auto& [address, piece] : live_) delete piece;
  for (const Pool& pool : pools_) {
    for (Piece* piece : pool) delete piece;
  }
}

size_t BfcAllocator::SegmentBytes(size_t bytes) const {
  size_t segment = RoundUp(bytes, kLargeUnit);
  if (bytes <= kLargestSmall) {
    segment = kSmallSegment;
  } else if (bytes < kLargestMedium) {
    segment = kMediumSegment;
  }
  return RoundUp(segment, device_.granularity());
}

size_t BfcAllocator::WorstCaseBytes(size_t bytes) const {
  if (bytes == 0) return 0;
  constexpr size_t kMost = ~size_t{0};
  if (bytes > kMost - 2 * std::max(kLargeUnit, device_.granularity())) {
    return kMost;
  }
  return SegmentBytes(RoundUp(bytes, kAlignment));
}

absl::StatusOr<std::optional<Block>> BfcAllocator::Allocate(size_t bytes,
                                                            Stream stream) {
  if (bytes == 0) return Block();
  constexpr size_t kMost = ~size_t{0} - kAlignment;
  if (bytes > std::min(ledger_.budget(), kMost)) return std::nullopt;
  if (ledger_.excess() > 0) return std::nullopt;
  const size_t rounded = RoundUp(bytes, kAlignment);
  const int pool = PoolOf(rounded);
  Piece* piece = BestFit(pool, rounded);
  if (piece == nullptr) {
    RK_ASSIGN_OR_RETURN(bool added, AddSegment(pool, SegmentBytes(rounded)));
    if (!added) {
      RK_RETURN_IF_ERROR(ReleaseFreeSegments());
      RK_ASSIGN_OR_RETURN(added, AddSegment(pool, SegmentBytes(rounded)));
    }
    if (!added) return std::nullopt;
    piece = BestFit(pool, rounded);
  }
  const absl::Status ordered = order_.Wait(piece->use, stream);
  if (absl::IsResourceExhausted(ordered)) {
    ++refusals_;
    return std::nullopt;
  }
  RK_RETURN_IF_ERROR(ordered);
  pools_[pool].erase(piece);
  Split(piece, rounded);
  piece->requested = bytes;
  Segment& segment = *piece->segment;
  if (segment.live_pieces++ == 0) live_physical_bytes_ += segment.bytes;
  live_.emplace(piece->address, piece);
  requested_bytes_ += bytes;
  reserved_bytes_ += piece->bytes;
  ++allocations_;
  device_.MarkUsed(piece->address, bytes);
  return Block{piece->address, bytes};
}

// The smallest free piece that fits; nullptr: there is none.
BfcAllocator::Piece* BfcAllocator::BestFit(int pool, size_t bytes) const {
  Piece least;
  least.bytes = bytes;
  const auto found = pools_[pool].lower_bound(&least);
  return found == pools_[pool].end() ? nullptr : *found;
}

// False: neither the budget nor the device may have room for it.
absl::StatusOr<bool> BfcAllocator::AddSegment(int pool, size_t bytes) {
  std::optional<Ledger::Reservation> reservation = ledger_.Reserve(bytes);
  if (!reservation.has_value()) return false;
  auto segment = std::make_unique<Segment>();
  segment->bytes = bytes;
  segment->pool = pool;
  const absl::Status backed = BackSegment(*segment);
  if (absl::IsResourceExhausted(backed)) {
    ++refusals_;
    return false;
  }
  RK_RETURN_IF_ERROR(backed);
  reservation->Commit();
  auto* const piece = new Piece;
  piece->address = segment->address;
  piece->bytes = bytes;
  piece->segment = segment.get();
  pools_[pool].insert(piece);
  device_.MarkFree(segment->address, bytes);
  segments_.emplace(segment->address, std::move(segment));
  return true;
}

// Reserve, create, map; undone in reverse if one of them fails.
absl::Status BfcAllocator::BackSegment(Segment& segment) {
  RK_ASSIGN_OR_RETURN(segment.address, device_.Reserve(segment.bytes));
  absl::Cleanup release = [&] {
    device_.Release(segment.address, segment.bytes).IgnoreError();
  };
  ++vmm_calls_;
  RK_ASSIGN_OR_RETURN(segment.chunk, device_.Create(segment.bytes));
  absl::Cleanup destroy = [&] {
    ++vmm_calls_;
    device_.Destroy(segment.chunk).IgnoreError();
  };
  ++vmm_calls_;
  RK_RETURN_IF_ERROR(
      device_.Map(segment.address, absl::MakeConstSpan(&segment.chunk, 1)));
  std::move(destroy).Cancel();
  std::move(release).Cancel();
  return absl::OkStatus();
}

// Cuts what is worth it off the end.
void BfcAllocator::Split(Piece* piece, size_t bytes) {
  const int pool = piece->segment->pool;
  const size_t rest = piece->bytes - bytes;
  if (!IsWorthSplitting(pool, rest)) return;
  auto* const after = new Piece;
  after->address = piece->address + bytes;
  after->bytes = rest;
  after->use = piece->use;
  after->segment = piece->segment;
  after->previous = piece;
  after->next = piece->next;
  if (piece->next != nullptr) piece->next->previous = after;
  piece->next = after;
  piece->bytes = bytes;
  pools_[pool].insert(after);
}

void BfcAllocator::Free(Block block, absl::Span<const Stream> streams) {
  if (block.bytes == 0) return;
  const auto found = live_.find(block.address);
  RK_CHECK(found != live_.end() && found->second->requested == block.bytes,
           "a live block of this allocator, unchanged");
  Piece* piece = found->second;
  live_.erase(found);
  requested_bytes_ -= block.bytes;
  reserved_bytes_ -= piece->bytes;
  piece->requested = 0;
  if (!streams.empty()) piece->use = order_.Use(streams);
  Segment& segment = *piece->segment;
  device_.MarkFree(piece->address, piece->bytes);
  if (--segment.live_pieces == 0) live_physical_bytes_ -= segment.bytes;
  Pool& pool = pools_[segment.pool];
  if (piece->previous != nullptr && piece->previous->requested == 0) {
    pool.erase(piece->previous);
    piece = Merge(piece->previous, piece);
  }
  if (piece->next != nullptr && piece->next->requested == 0) {
    pool.erase(piece->next);
    piece = Merge(piece, piece->next);
  }
  pool.insert(piece);
  if (ledger_.excess() > 0) ReleaseFreeSegments().IgnoreError();
}

BfcAllocator::Piece* BfcAllocator::Merge(Piece* left, Piece* right) {
  left->bytes += right->bytes;
  left->use.Add(right->use);
  left->next = right->next;
  if (right->next != nullptr) right->next->previous = left;
  delete right;
  return left;
}

// REQUIRES: the piece is free and all of its segment.
absl::Status BfcAllocator::ReleaseSegment(Piece* piece) {
  Segment& segment = *piece->segment;
  if (segment.chunk.valid()) {
    RK_RETURN_IF_ERROR(order_.Finish(piece->use));
    ++vmm_calls_;
    RK_RETURN_IF_ERROR(device_.Unmap(segment.address, segment.bytes));
    ++vmm_calls_;
    const absl::Status destroyed = device_.Destroy(segment.chunk);
    if (!destroyed.ok()) {
      ++vmm_calls_;
      device_.Map(segment.address, absl::MakeConstSpan(&segment.chunk, 1))
          .IgnoreError();
      return destroyed;
    }
    ledger_.GiveBack(segment.bytes);
    segment.chunk = ChunkId();
  }
  device_.Release(segment.address, segment.bytes).IgnoreError();
  pools_[segment.pool].erase(piece);
  segments_.erase(segment.address);
  delete piece;
  return absl::OkStatus();
}

absl::Status BfcAllocator::ReleaseFreeSegments() {
  for (Pool& pool : pools_) {
    for (auto next = pool.begin(); next != pool.end();) {
      Piece* const piece = *next++;
      if (piece->bytes != piece->segment->bytes) continue;
      RK_RETURN_IF_ERROR(ReleaseSegment(piece));
    }
  }
  return absl::OkStatus();
}

absl::Status BfcAllocator::SetBudget(size_t bytes) {
  ledger_.SetBudget(bytes);
  return ledger_.excess() > 0 ? ReleaseFreeSegments() : absl::OkStatus();
}

absl::Status BfcAllocator::Trim() { return ReleaseFreeSegments(); }

AllocatorStats BfcAllocator::stats() const {
  AllocatorStats stats;
  stats.budget = ledger_.budget();
  stats.effective_budget = stats.budget;
  stats.requested_bytes = requested_bytes_;
  stats.reserved_bytes = reserved_bytes_;
  stats.live_physical_bytes = live_physical_bytes_;
  stats.physical_bytes = ledger_.used();
  stats.peak_physical_bytes = ledger_.peak();
  stats.live_blocks = static_cast<int64_t>(live_.size());
  stats.allocations = allocations_;
  stats.vmm_calls = vmm_calls_;
  stats.refusals = refusals_;
  return stats;
}

std::vector<SegmentSnapshot> BfcAllocator::Snapshot() const {
  absl::btree_map<DeviceAddress, const Piece*> pieces(live_.begin(),
                                                      live_.end());
  for (const Pool& pool : pools_) {
    for (const Piece* piece : pool) pieces.emplace(piece->address, piece);
  }
  std::vector<SegmentSnapshot> segments;
  for (const auto& [address, piece] : pieces) {
    if (address == piece->segment->address) {
      segments.push_back({address, piece->segment->bytes, {}});
    }
    segments.back().blocks.push_back(
        {address, piece->bytes, piece->requested, piece->requested > 0});
  }
  return segments;
}

void BfcAllocator::CheckInvariants() const {
  absl::flat_hash_map<const Segment*, size_t> covered;
  size_t requested = 0;
  for (const auto& [address, piece] : live_) {
    RK_CHECK(piece->address == address && piece->requested > 0 &&
                 piece->requested <= piece->bytes,
             "a block lies in its piece");
    requested += piece->requested;
    covered[piece->segment] += piece->bytes;
  }
  for (const Pool& pool : pools_) {
    for (const Piece* piece : pool) {
      RK_CHECK(piece->requested == 0, "pieces in a pool are free");
      RK_CHECK(piece->next == nullptr || piece->next->requested > 0,
               "free neighbours are merged");
      covered[piece->segment] += piece->bytes;
    }
  }
  size_t physical = 0;
  for (const auto& [address, segment] : segments_) {
    RK_CHECK(covered[segment.get()] == segment->bytes, "pieces tile");
    physical += segment->bytes;
  }
  RK_CHECK(requested == requested_bytes_, "requested bytes are counted");
  RK_CHECK(physical == ledger_.used(), "the ledger counts the segments");
}

}  // namespace rekindle
