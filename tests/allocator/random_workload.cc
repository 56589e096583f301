// SPDX-License-Identifier: Apache-2.0
#include "tests/allocator/random_workload.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "gtest/gtest.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {
namespace {

// What of a block is written and read: all of it, if it is not large.
std::vector<Block> Ends(Block block) {
  constexpr size_t kEnd = 5000;
  if (block.bytes <= 2 * kEnd) return {block};
  return {{block.address, kEnd}, {block.address + block.bytes - kEnd, kEnd}};
}

}  // namespace

RandomWorkload::RandomWorkload(Device& device, Allocator& allocator,
                               uint64_t seed, const WorkloadOptions& options)
    : device_(device),
      allocator_(allocator),
      options_(options),
      largest_budget_(allocator.stats().budget),
      random_(seed) {}

absl::Status RandomWorkload::Run(int steps) {
  for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
    const absl::Status status = Step();
    CheckBudget();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RandomWorkload::Step() {
  if (options_.budget_change_every > 0 &&
      Draw(static_cast<size_t>(options_.budget_change_every)) == 0) {
    return ChangeBudget();
  }
  if (options_.compact_every > 0 &&
      Draw(static_cast<size_t>(options_.compact_every)) == 0) {
    return Compact();
  }
  if (!live_.empty() && Draw(100) < 45) {
    FreeOne();
    return absl::OkStatus();
  }
  return Allocate(DrawSize());
}

// Many small blocks, some of a few fixed sizes, and all sizes up to the limit
// in equal shares of their logarithm.
size_t RandomWorkload::DrawSize() {
  switch (Draw(8)) {
    case 0:
      return 1 + Draw(std::min<size_t>(options_.largest_block, 5000));
    case 1:
      return options_.largest_block / (1 + Draw(4));
    default:
      size_t size = options_.largest_block;
      while (size > 512 && Draw(2) == 0) size /= 2;
      return 1 + Draw(size);
  }
}

absl::Status RandomWorkload::Allocate(size_t bytes) {
  const AllocatorStats before = allocator_.stats();
  const bool must_fit =
      before.live_physical_bytes + allocator_.WorstCaseBytes(bytes) <=
          before.budget &&
      before.refusals == 0;
  const absl::StatusOr<std::optional<Block>> block = allocator_.Allocate(bytes);
  if (!block.ok() || !block->has_value()) CheckAgainst(before);
  if (!block.ok()) return block.status();
  if (block->has_value()) {
    Add(**block);
    return absl::OkStatus();
  }
  if (allocator_.stats().refusals == before.refusals) {
    EXPECT_FALSE(must_fit) << bytes
                           << " bytes must fit: " << before.live_physical_bytes
                           << " of " << before.budget
                           << " are under live blocks";
  }
  ++misses_;
  for (size_t i = 1 + Draw(4); i > 0 && !live_.empty(); --i) FreeOne();
  return absl::OkStatus();
}

void RandomWorkload::CheckAgainst(const AllocatorStats& before) {
  const AllocatorStats after = allocator_.stats();
  EXPECT_EQ(after.live_physical_bytes, before.live_physical_bytes);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(after.live_blocks, before.live_blocks);
}

void RandomWorkload::Add(Block block) {
  EXPECT_EQ(block.address % 256, 0u);
  if (block.bytes > 4096) {
    EXPECT_EQ(block.address % 512, 0u);
  }
  ExpectFree(block);
  taken_[block.address] = block.address + block.bytes;
  const auto content = static_cast<uint8_t>(1 + Draw(255));
  if (device_.holds_bytes()) {
    for (const Block& end_of_block : Ends(block)) {
      EXPECT_TRUE(
          device_
              .Fill(end_of_block.address, content, end_of_block.bytes, Stream())
              .ok());
    }
  }
  live_.push_back({block, content});
  worst_case_ += allocator_.WorstCaseBytes(block.bytes);
  requested_ += block.bytes;
  EXPECT_EQ(allocator_.stats().requested_bytes, requested_);
}

void RandomWorkload::ExpectFree(Block block) {
  const auto next = taken_.lower_bound(block.address);
  EXPECT_TRUE(next == taken_.end() ||
              next->first >= block.address + block.bytes);
  EXPECT_TRUE(next == taken_.begin() ||
              std::prev(next)->second <= block.address);
}

void RandomWorkload::FreeOne() {
  if (!live_.empty()) Free(Draw(live_.size()));
}

void RandomWorkload::Free(size_t index) {
  std::swap(live_[index], live_.back());
  const auto [block, content] = live_.back();
  live_.pop_back();
  if (device_.holds_bytes()) {
    for (const Block& end_of_block : Ends(block)) {
      EXPECT_TRUE(Holds(end_of_block, content))
          << "somebody else wrote to this block";
    }
  }
  taken_.erase(block.address);
  worst_case_ -= allocator_.WorstCaseBytes(block.bytes);
  requested_ -= block.bytes;
  allocator_.Free(block);
}

bool RandomWorkload::Holds(Block block, uint8_t content) {
  std::vector<uint8_t> bytes(block.bytes);
  EXPECT_TRUE(
      device_.CopyToHost(bytes.data(), block.address, block.bytes, Stream())
          .ok());
  const std::ptrdiff_t equal = std::count(bytes.begin(), bytes.end(), content);
  return equal == static_cast<std::ptrdiff_t>(block.bytes);
}

void RandomWorkload::FreeAll() {
  while (!live_.empty()) FreeOne();
}

absl::Status RandomWorkload::ChangeBudget() {
  if (Draw(4) == 0) return allocator_.Trim();
  return allocator_.SetBudget(largest_budget_ * (1 + Draw(8)) / 8);
}

// All blocks may move, or three of four. Those that do lie where none lay.
class RandomWorkload::Mover : public BlockMover {
 public:
  explicit Mover(RandomWorkload& workload)
      : workload_(workload), some_stay_(workload.Draw(2) == 0) {
    for (LiveBlock& live : workload.live_) at_[live.block.address] = &live;
  }

  bool CanMove(const Block& block) override {
    EXPECT_TRUE(at_.count(block.address) > 0);
    return !some_stay_ || block.address / 256 % 4 != 0;
  }
  void Moved(const Block& from, const Block& to) override {
    LiveBlock* const live = at_.at(from.address);
    EXPECT_EQ(live->block.bytes, to.bytes);
    at_.erase(from.address);
    EXPECT_TRUE(at_.emplace(to.address, live).second);
    live->block = to;
    workload_.taken_.erase(from.address);
    workload_.ExpectFree(to);
    workload_.taken_[to.address] = to.address + to.bytes;
  }

 private:
  RandomWorkload& workload_;
  const bool some_stay_;
  std::map<DeviceAddress, LiveBlock*> at_;
};

// Many blocks of one small size, of which one in four stays, as a step leaves
// them.
absl::Status RandomWorkload::LeaveSparsePages() {
  const size_t bytes = 1 + Draw(1024);
  for (size_t i = Draw(200); i > 0; --i) RK_RETURN_IF_ERROR(Allocate(bytes));
  for (size_t i = live_.size(); i-- > 0;) {
    if (i >= live_.size() || !live_[i].block.movable || Draw(4) == 0) continue;
    Free(i);
  }
  return absl::OkStatus();
}

absl::Status RandomWorkload::Compact() {
  if (Draw(2) == 0) RK_RETURN_IF_ERROR(LeaveSparsePages());
  const AllocatorStats before = allocator_.stats();
  Mover mover(*this);
  const absl::StatusOr<size_t> gained =
      allocator_.Compact(Draw(4 * options_.largest_block), mover);
  const AllocatorStats after = allocator_.stats();
  EXPECT_LE(after.live_physical_bytes, before.live_physical_bytes);
  EXPECT_EQ(after.live_blocks, before.live_blocks);
  if (!gained.ok()) return gained.status();
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes - *gained);
  if (*gained == 0) {
    EXPECT_EQ(after.moved_blocks, before.moved_blocks);
  }
  return absl::OkStatus();
}

void RandomWorkload::CheckBudget() {
  const AllocatorStats stats = allocator_.stats();
  const size_t created = device_.memory_info().created;
  EXPECT_EQ(stats.physical_bytes, created);
  if (!options_.device_fails) {
    EXPECT_LE(created, std::max(stats.budget, stats.live_physical_bytes));
  }
  EXPECT_LE(device_.memory_info().peak_created, largest_budget_);
  EXPECT_LE(stats.live_physical_bytes, worst_case_);
  EXPECT_LE(stats.live_physical_bytes, created);
  EXPECT_LE(stats.requested_bytes, stats.reserved_bytes);
  EXPECT_LE(stats.reserved_bytes, stats.live_physical_bytes);
  EXPECT_EQ(stats.live_blocks, static_cast<int64_t>(live_.size()));
}

}  // namespace rekindle
