// SPDX-License-Identifier: Apache-2.0
#include "tests/allocator/stream_workload.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include "rekindle/allocator/give_back.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {

absl::Status VerbBytes::Write(Block block, uint8_t content, Stream stream) {
  return device_.Fill(block.address, content, block.bytes, stream);
}

absl::Status VerbBytes::Check(Block block, uint8_t content, Stream stream) {
  std::vector<uint8_t> got(block.bytes);
  RK_RETURN_IF_ERROR(
      device_.CopyToHost(got.data(), block.address, block.bytes, stream));
  wrong_ += got == std::vector<uint8_t>(block.bytes, content) ? 0 : 1;
  return absl::OkStatus();
}

StreamWorkload::StreamWorkload(Device& device, Allocator& allocator,
                               StreamBytes& bytes, uint64_t seed,
                               const StreamWorkloadOptions& options)
    : device_(device),
      allocator_(allocator),
      bytes_(bytes),
      options_(options),
      largest_budget_(allocator.stats().budget),
      random_(seed) {}

absl::Status StreamWorkload::Open() {
  RK_ASSIGN_OR_RETURN(const Event event, device_.CreateEvent());
  events_.push_back(event);
  while (streams_.size() < kStreams) {
    RK_ASSIGN_OR_RETURN(const Stream stream, device_.CreateStream());
    streams_.push_back(stream);
  }
  return absl::OkStatus();
}

absl::Status StreamWorkload::Run(int steps) {
  for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
    const absl::Status status = Step();
    CheckBudget();
    RK_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

absl::Status StreamWorkload::Step() {
  if (options_.upheaval_every > 0 &&
      Draw(static_cast<size_t>(options_.upheaval_every)) == 0) {
    return Upheaval();
  }
  const size_t kind = Draw(10);
  if (kind < 5 || live_.empty()) return Allocate();
  if (kind < 8) return FreeOne();
  return HandOver(/*both=*/kind == 8);
}

absl::Status StreamWorkload::Allocate() {
  size_t bytes = options_.largest_block;
  while (bytes > 1024 && Draw(2) == 0) bytes /= 2;
  bytes = 1 + Draw(bytes);
  const Stream stream = DrawStream();
  RK_ASSIGN_OR_RETURN(const std::optional<Block> block,
                      allocator_.Allocate(bytes, stream));
  if (!block.has_value()) {
    ++misses_;
    for (size_t i = 1 + Draw(4); i > 0 && !live_.empty(); --i) {
      RK_RETURN_IF_ERROR(FreeOne());
    }
    return absl::OkStatus();
  }
  const auto content = static_cast<uint8_t>(1 + Draw(255));
  live_.push_back({*block, content, false, {stream}});
  RK_RETURN_IF_ERROR(bytes_.Write(*block, content, stream));
  live_.back().written = true;
  return absl::OkStatus();
}

absl::Status StreamWorkload::Check(const LiveBlock& live) {
  if (!live.written) return absl::OkStatus();
  return bytes_.Check(live.block, live.content, live.streams.back());
}

absl::Status StreamWorkload::FreeOne() {
  std::swap(live_[Draw(live_.size())], live_.back());
  RK_RETURN_IF_ERROR(Check(live_.back()));
  const LiveBlock live = std::move(live_.back());
  live_.pop_back();
  allocator_.Free(live.block, live.streams);
  return absl::OkStatus();
}

// A random block goes on on another stream, which waits for those before; if
// `both`, those have work after that and are still its users.
absl::Status StreamWorkload::HandOver(bool both) {
  LiveBlock& live = live_[Draw(live_.size())];
  const Stream to = DrawStream();
  for (const Stream from : live.streams) {
    RK_RETURN_IF_ERROR(device_.Record(events_[0], from));
    RK_RETURN_IF_ERROR(device_.StreamWait(to, events_[0]));
  }
  if (both) {
    RK_RETURN_IF_ERROR(Check(live));
    live.streams.push_back(to);
  } else {
    live.streams = {to};
  }
  return Check(live);
}

absl::Status StreamWorkload::Upheaval() {
  switch (Draw(4)) {
    case 0:
      return allocator_.Trim();
    case 1:
      return ExchangeStream();
    default:
      return allocator_.SetBudget(largest_budget_ * (1 + Draw(8)) / 8);
  }
}

absl::Status StreamWorkload::ExchangeStream() {
  RK_ASSIGN_OR_RETURN(const Stream other, device_.CreateStream());
  streams_.push_back(other);
  const Stream ended = streams_.front();
  RK_RETURN_IF_ERROR(device_.DestroyStream(ended));
  allocator_.StreamEnded(ended);
  streams_.erase(streams_.begin());
  for (LiveBlock& live : live_) {
    std::replace(live.streams.begin(), live.streams.end(), ended, other);
  }
  return absl::OkStatus();
}

absl::Status StreamWorkload::FreeAll() {
  absl::Status status;
  while (!live_.empty()) {
    absl::Status freed = FreeOne();
    if (!freed.ok()) live_.back().written = false;  // not looked at again
    status.Update(std::move(freed));
  }
  return status;
}

void StreamWorkload::EndStreams() {
  for (const Event event : events_) {
    GiveBack([&] { return device_.DestroyEvent(event); });
  }
  for (const Stream stream : streams_) {
    GiveBack([&] { return device_.DestroyStream(stream); });
  }
}

void StreamWorkload::CheckBudget() {
  const AllocatorStats stats = allocator_.stats();
  const MemoryInfo memory = device_.memory_info();
  EXPECT_EQ(stats.physical_bytes, memory.created);
  EXPECT_LE(memory.peak_created, largest_budget_);
  EXPECT_EQ(stats.live_blocks, static_cast<int64_t>(live_.size()));
  if (!options_.device_fails) {
    EXPECT_LE(memory.created,
              std::max(stats.budget, stats.live_physical_bytes));
  }
}

}  // namespace rekindle
