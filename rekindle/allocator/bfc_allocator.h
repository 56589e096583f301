// SPDX-License-Identifier: Apache-2.0
// The baseline to compare with: segments that are split and merged, and whose
// memory never moves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/allocator/ledger.h"
#include "rekindle/allocator/stream_order.h"
#include "rekindle/base/units.h"
#include "rekindle/device/device.h"

namespace rekindle {

struct BfcAllocatorOptions {
  size_t budget = 0;  // the most physical memory, in bytes
};

// Best fit with coalescing, by the sizes that PyTorch's native CUDA allocator
// is known for:
//   * requests are rounded up to 512 bytes;
//   * those up to 1 MiB come from segments of 2 MiB, in a pool of their own;
//   * those below 10 MiB from segments of 20 MiB, larger ones from a segment of
//     their size rounded up to 2 MiB;
//   * the smallest free piece of the pool that fits is taken, and split if 512
//     bytes remain (in the pool of large ones: if more than 1 MiB remains);
//   * free pieces of one segment merge;
//   * if the budget or the device has no room for a new segment, all segments
//     without a live block go back to the device, and it is tried once more.
// The same for all streams: a piece that another stream freed is taken with a
// wait. Segments go back once nobody uses them; the host waits for that.
// A segment is one reservation with one chunk behind it, as cudaMalloc would
// give it. Thread-compatible.
class BfcAllocator : public Allocator {
 public:
  // `device` must outlive the allocator.
  static absl::StatusOr<std::unique_ptr<BfcAllocator>> Create(
      Device& device, const BfcAllocatorOptions& options);

  // Gives everything back to the device, memory of live blocks too.
  ~BfcAllocator() override;

  using Allocator::Allocate;
  using Allocator::Free;
  absl::StatusOr<std::optional<Block>> Allocate(size_t bytes,
                                                Stream stream) override;
  void Free(Block block, absl::Span<const Stream> streams) override;
  void StreamEnded(Stream stream) override { order_.End(stream); }

  // Its memory never moves.
  absl::StatusOr<size_t> Compact(size_t, BlockMover&) override { return 0; }

  // Its segment. No promise that such a block can be had follows from this:
  // free pieces of many segments do not make one.
  size_t WorstCaseBytes(size_t bytes) const override;

  absl::Status SetBudget(size_t bytes) override;
  void AskAgain() override {}  // each request does
  absl::Status Trim() override;
  AllocatorStats stats() const override;
  std::vector<SegmentSnapshot> Snapshot() const override;
  void CheckInvariants() const override;

 private:
  struct Segment {
    DeviceAddress address = 0;
    size_t bytes = 0;
    ChunkId chunk;
    int pool = 0;
    size_t live_pieces = 0;
  };

  // A part of a segment.
  struct Piece {
    DeviceAddress address = 0;
    size_t bytes = 0;
    size_t requested = 0;  // 0: free
    StreamUse use;         // as that of a Range
    Segment* segment = nullptr;
  };
  using Pieces = std::map<DeviceAddress, Piece>;
  struct BySize {
    bool operator()(const Piece* a, const Piece* b) const {
      if (a->bytes != b->bytes) return a->bytes < b->bytes;
      return a->address < b->address;
    }
  };
  using Pool = std::set<Piece*, BySize>;

  BfcAllocator(Device& device, size_t budget)
      : device_(device), ledger_(budget), order_(device) {}

  size_t SegmentBytes(size_t bytes) const;
  Piece* BestFit(int pool, size_t bytes) const;
  absl::StatusOr<bool> AddSegment(int pool, size_t bytes);
  absl::Status BackSegment(Segment& segment);
  Piece* AddPiece(Segment& segment, DeviceAddress address, size_t bytes);
  void Split(Piece* piece, size_t bytes);
  Piece* MergeIfFree(Piece* left, Piece* right);
  absl::Status ReleaseSegment(Piece* piece);
  absl::Status DestroyUnmapped();
  absl::Status ReleaseFreeSegments();

  Device& device_;
  Ledger ledger_;
  StreamOrder order_;
  std::array<Pool, 2> pools_;  // free pieces of small and of large segments
  std::map<DeviceAddress, Segment> segments_;
  std::vector<Segment> unmapped_;  // but not yet destroyed and released
  Pieces pieces_;                  // neighbours in address order
  size_t requested_bytes_ = 0;
  size_t reserved_bytes_ = 0;
  size_t live_physical_bytes_ = 0;
  int64_t live_blocks_ = 0;
  int64_t allocations_ = 0;
  int64_t vmm_calls_ = 0;
  int64_t refusals_ = 0;
};

}  // namespace rekindle
