// SPDX-License-Identifier: Apache-2.0
// How an arena finds chunks that it can do without.
#include <algorithm>
#include <vector>

#include "rekindle/allocator/arena.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"

namespace rekindle {

absl::Status Arena::GiveBackExcess() {
  if (ledger_.excess() == 0) return absl::OkStatus();
  const size_t count = RoundUp(ledger_.excess(), chunk_bytes()) / chunk_bytes();
  if (chunks_.spare() < count) {
    RK_RETURN_IF_ERROR(
        UnmapIdle(std::min(count - chunks_.spare(), map_.idle_chunks())));
  }
  return DestroySpare(count);
}

absl::Status Arena::Trim() {
  RK_RETURN_IF_ERROR(UnmapIdle(map_.idle_chunks()));
  return DestroySpare(chunks_.spare());
}

absl::Status Arena::DestroySpare(size_t count) {
  for (count = std::min(count, chunks_.spare()); count > 0; --count) {
    RK_RETURN_IF_ERROR(chunks_.Destroy());
  }
  return absl::OkStatus();
}

// The largest ranges that have idle chunks, until there are `count`.
std::vector<Range*> Arena::LargestIdle(size_t count) const {
  std::vector<Range*> ranges;
  for (const SizeIndex* index : {&map_.enclosed(), &map_.open()}) {
    size_t found = 0;
    index->FindFromLargest([&](Range* range) {
      const size_t chunks = map_.WholeChunks(*range);
      if (chunks > 0) ranges.push_back(range);
      found += chunks;
      return found >= count;
    });
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range* a, const Range* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->address > b->address;
  });
  return ranges;
}

// Ranges that have `count` idle chunks and more, in the order in which to take
// them: as LargestIdle, but those that nobody uses first.
absl::StatusOr<std::vector<Range*>> Arena::ChooseIdle(size_t count) {
  std::vector<Range*> ranges = LargestIdle(count);
  const auto ask = [&]() -> absl::StatusOr<bool> {
    StreamUse use;
    for (const Range* range : ranges) use.Add(range->use);
    return order_.Ask(use);
  };
  RK_ASSIGN_OR_RETURN(bool done, ask());
  if (done) return ranges;
  ranges = LargestIdle(map_.idle_chunks());
  RK_ASSIGN_OR_RETURN(done, ask());
  std::stable_partition(
      ranges.begin(), ranges.end(),
      [this](const Range* range) { return order_.IsDone(range->use); });
  return ranges;
}

// Makes `count` idle chunks spare: the ends of the largest cached ranges, since
// what is left of those still fits most requests. REQUIRES: there are as many.
absl::Status Arena::UnmapIdle(size_t count) {
  if (count == 0) return absl::OkStatus();
  struct Run {
    Range* range;
    DeviceAddress address;
    size_t bytes;
  };
  std::vector<Run> runs;
  RK_ASSIGN_OR_RETURN(const std::vector<Range*> ranges, ChooseIdle(count));
  for (Range* const range : ranges) {
    const DeviceAddress begin = RoundUp(range->address, chunk_bytes());
    const DeviceAddress end = RoundDown(range->end(), chunk_bytes());
    const size_t chunks = std::min(count, (end - begin) / chunk_bytes());
    const size_t bytes = chunks * chunk_bytes();
    if (bytes > 0) runs.push_back({range, end - bytes, bytes});
    count -= chunks;
  }
  RK_CHECK(count == 0, "as many idle chunks as asked for");
  moved_ = true;
  map_.IndexByAddress();
  for (const Run& run : runs) {
    RK_RETURN_IF_ERROR(order_.Finish(run.range->use));
  }
  for (const Run& run : runs) {
    RK_RETURN_IF_ERROR(chunks_.Unmap(run.address, run.bytes));
    map_.Assign(run.range, run.address, run.bytes, RangeState::kUnmapped);
  }
  return absl::OkStatus();
}

}  // namespace rekindle
