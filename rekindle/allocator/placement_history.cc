// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/placement_history.h"

#include <algorithm>

namespace rekindle {

uint64_t& PlacementHistory::LatestIn(size_t live_bytes, size_t bytes) {
  if (latest_.empty()) latest_.resize(2 * kCapacity, kNever);
  // Fibonacci hashing; sizes and sums are multiples of the alignment.
  const uint64_t mixed = (live_bytes * 31 + bytes) * 0x9E3779B97F4A7C15u;
  return latest_[mixed >> 47];
}

std::optional<PlacementHistory::Entry> PlacementHistory::Recall(
    size_t live_bytes, size_t bytes) {
  const auto same_size = [&](uint64_t i) {
    return Holds(i) && At(i).bytes == bytes;
  };
  const auto same = [&](uint64_t i) {
    return same_size(i) && At(i).live_bytes == live_bytes;
  };
  uint64_t found = expected_;
  if (!same(found)) {
    const uint64_t latest = LatestIn(live_bytes, bytes);
    if (same(latest)) found = latest;
  }
  if (!same_size(found)) {
    expected_ = kNever;
    return std::nullopt;
  }
  expected_ = found + 1;
  return At(found);
}

uint64_t PlacementHistory::Record(size_t live_bytes, size_t bytes,
                                  DeviceAddress address) {
  const Entry entry = {address, bytes, live_bytes, next_, kNever};
  if (log_.size() < kCapacity) {
    log_.push_back(entry);
  } else {
    At(next_) = entry;
  }
  LatestIn(live_bytes, bytes) = next_;
  return next_++;
}

void PlacementHistory::End(uint64_t born) {
  if (Holds(born)) At(born).died = next_;
}

}  // namespace rekindle
