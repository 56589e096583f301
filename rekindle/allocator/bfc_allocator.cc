// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/bfc_allocator.h"

#include <algorithm>
#include <iterator>
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
    device_.Unmap(address, segment.bytes).IgnoreError();
    unmapped_.push_back(segment);
  }
  for (const Segment& segment : unmapped_) {
    device_.Destroy(segment.chunk).IgnoreError();
    device_.Release(segment.address, segment.bytes).IgnoreError();
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
  ++live_blocks_;
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
  Segment made;
  made.bytes = bytes;
  made.pool = pool;
  const absl::Status backed = BackSegment(made);
  if (absl::IsResourceExhausted(backed)) {
    ++refusals_;
    return false;
  }
  RK_RETURN_IF_ERROR(backed);
  reservation->Commit();
  Segment& segment = segments_[made.address] = made;
  pools_[pool].insert(AddPiece(segment, segment.address, bytes));
  device_.MarkFree(segment.address, bytes);
  return true;
}

BfcAllocator::Piece* BfcAllocator::AddPiece(Segment& segment,
                                            DeviceAddress address,
                                            size_t bytes) {
  Piece& piece = pieces_[address];
  piece.address = address;
  piece.bytes = bytes;
  piece.segment = &segment;
  return &piece;
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
  Piece* const after = AddPiece(*piece->segment, piece->address + bytes, rest);
  after->use = piece->use;
  piece->bytes = bytes;
  pools_[pool].insert(after);
}

void BfcAllocator::Free(Block block, absl::Span<const Stream> streams) {
  if (block.bytes == 0) return;
  const auto found = pieces_.find(block.address);
  RK_CHECK(found != pieces_.end() && found->second.requested == block.bytes,
           "a live block of this allocator, unchanged");
  Piece* piece = &found->second;
  --live_blocks_;
  requested_bytes_ -= block.bytes;
  reserved_bytes_ -= piece->bytes;
  piece->requested = 0;
  if (!streams.empty()) piece->use = order_.Use(streams);
  Segment& segment = *piece->segment;
  device_.MarkFree(piece->address, piece->bytes);
  if (--segment.live_pieces == 0) live_physical_bytes_ -= segment.bytes;
  if (const auto next = std::next(found); next != pieces_.end()) {
    MergeIfFree(piece, &next->second);
  }
  if (found != pieces_.begin()) {
    piece = MergeIfFree(&std::prev(found)->second, piece);
  }
  pools_[segment.pool].insert(piece);
  if (ledger_.excess() > 0) ReleaseFreeSegments().IgnoreError();
}

// Two neighbours, of which neither is in a pool now, if they are free and of
// one segment. Returns the piece that `right` is a part of.
BfcAllocator::Piece* BfcAllocator::MergeIfFree(Piece* left, Piece* right) {
  const bool free = left->requested == 0 && right->requested == 0;
  if (left->segment != right->segment || !free) return right;
  pools_[left->segment->pool].erase(left);
  pools_[left->segment->pool].erase(right);
  left->bytes += right->bytes;
  left->use.Add(right->use);
  pieces_.erase(right->address);
  return left;
}

// REQUIRES: the piece is free and all of its segment.
absl::Status BfcAllocator::ReleaseSegment(Piece* piece) {
  const Segment segment = *piece->segment;
  RK_RETURN_IF_ERROR(order_.Finish(piece->use));
  ++vmm_calls_;
  RK_RETURN_IF_ERROR(device_.Unmap(segment.address, segment.bytes));
  pools_[segment.pool].erase(piece);
  pieces_.erase(segment.address);
  segments_.erase(segment.address);
  unmapped_.push_back(segment);
  return DestroyUnmapped();
}

// What the device does not take back now is tried again the next time.
absl::Status BfcAllocator::DestroyUnmapped() {
  while (!unmapped_.empty()) {
    Segment& segment = unmapped_.back();
    if (segment.chunk.valid()) {
      ++vmm_calls_;
      RK_RETURN_IF_ERROR(device_.Destroy(segment.chunk));
      segment.chunk = ChunkId();
      ledger_.GiveBack(segment.bytes);
    }
    RK_RETURN_IF_ERROR(device_.Release(segment.address, segment.bytes));
    unmapped_.pop_back();
  }
  return absl::OkStatus();
}

absl::Status BfcAllocator::ReleaseFreeSegments() {
  RK_RETURN_IF_ERROR(DestroyUnmapped());
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
  stats.live_blocks = live_blocks_;
  stats.allocations = allocations_;
  stats.vmm_calls = vmm_calls_;
  stats.refusals = refusals_;
  return stats;
}

std::vector<SegmentSnapshot> BfcAllocator::Snapshot() const {
  std::vector<SegmentSnapshot> segments;
  for (const auto& [address, piece] : pieces_) {
    if (address == piece.segment->address) {
      segments.push_back({address, piece.segment->bytes, {}});
    }
    segments.back().blocks.push_back(
        {address, piece.bytes, piece.requested, piece.requested > 0});
  }
  return segments;
}

void BfcAllocator::CheckInvariants() const {
  size_t requested = 0;
  size_t physical = 0;
  int64_t live = 0;
  const Piece* before = nullptr;
  for (const auto& [address, piece] : pieces_) {
    const bool first = address == piece.segment->address;
    RK_CHECK(piece.address == address && piece.requested <= piece.bytes,
             "a block lies in its piece");
    RK_CHECK(first || (before != nullptr && before->segment == piece.segment &&
                       before->address + before->bytes == address),
             "pieces tile their segment");
    RK_CHECK(first || before->requested > 0 || piece.requested > 0,
             "free neighbours are merged");
    RK_CHECK(pools_[piece.segment->pool].count(const_cast<Piece*>(&piece)) ==
                 (piece.requested == 0 ? 1u : 0u),
             "free pieces are in the pool, live ones are not");
    requested += piece.requested;
    live += piece.requested > 0 ? 1 : 0;
    before = &piece;
  }
  for (const auto& [address, segment] : segments_) physical += segment.bytes;
  for (const Segment& segment : unmapped_) {
    if (segment.chunk.valid()) physical += segment.bytes;
  }
  RK_CHECK(requested == requested_bytes_, "requested bytes are counted");
  RK_CHECK(live == live_blocks_, "live blocks are counted");
  RK_CHECK(physical == ledger_.used(), "the ledger counts the segments");
}

}  // namespace rekindle
