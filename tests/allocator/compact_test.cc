// SPDX-License-Identifier: Apache-2.0
// Small blocks that move together.
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "rekindle/allocator/history_allocator.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/fault_injecting_device.h"
#include "rekindle/device/host/host_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using Verb = FaultInjectingDevice::Verb;

constexpr size_t kChunk = 64 * kKiB;
constexpr size_t kPage = 16 * kKiB;
constexpr size_t kBlock = 1000;
constexpr size_t kSlots = kPage / 1024;
constexpr size_t kAll = ~size_t{0};

// Follows its blocks, and lets all move but those that are stuck.
class TestMover : public BlockMover {
 public:
  bool CanMove(const Block& block) override {
    return !stuck.contains(block.address);
  }
  void Moved(const Block& from, const Block& to) override {
    auto node = content.extract(from.address);
    ASSERT_FALSE(node.empty());
    node.key() = to.address;
    ASSERT_TRUE(content.insert(std::move(node)).inserted);
    EXPECT_EQ(from.bytes, to.bytes);
  }

  std::map<DeviceAddress, std::pair<Block, uint8_t>> content;
  std::set<DeviceAddress> stuck;
};

class CompactTest : public testing::Test {
 protected:
  ~CompactTest() override { ExpectBytes(); }

  Block Allocate(size_t bytes = kBlock) {
    const Block block = *allocator_->Allocate(bytes).value();
    const auto content = static_cast<uint8_t>(1 + blocks().size() % 251);
    EXPECT_THAT(device_.Fill(block.address, content, bytes, Stream()), IsOk());
    blocks()[block.address] = {block, content};
    return block;
  }

  void Free(DeviceAddress address) {
    const auto found = blocks().find(address);
    Block block = found->second.first;
    block.address = address;
    allocator_->Free(block);
    blocks().erase(found);
  }

  // Fills `pages` pages and frees all but the first `keep` blocks of each.
  void MakeSparse(size_t pages, size_t keep, size_t bytes = kBlock) {
    std::vector<Block> made;
    for (size_t i = 0; i < pages * kSlots; ++i) made.push_back(Allocate(bytes));
    for (size_t i = 0; i < made.size(); ++i) {
      if (i % kSlots >= keep) Free(made[i].address);
    }
  }

  size_t Compact(size_t bytes = kAll) {
    const absl::StatusOr<size_t> gained = allocator_->Compact(bytes, mover_);
    allocator_->CheckInvariants();
    ExpectBytes();
    return gained.value();
  }

  void ExpectBytes() {
    for (const auto& [address, entry] : blocks()) {
      std::vector<uint8_t> bytes(entry.first.bytes);
      ASSERT_THAT(
          device_.CopyToHost(bytes.data(), address, bytes.size(), Stream()),
          IsOk());
      ASSERT_EQ(bytes, std::vector<uint8_t>(bytes.size(), entry.second));
    }
  }

  std::map<DeviceAddress, std::pair<Block, uint8_t>>& blocks() {
    return mover_.content;
  }
  AllocatorStats stats() const { return allocator_->stats(); }

  const std::unique_ptr<HostDevice> host_ =
      HostDevice::Open(
          {.capacity = 16 * kMiB, .granularity = kChunk, .poison = true})
          .value();
  FaultInjectingDevice device_{*host_};
  const std::unique_ptr<VmmAllocator> allocator_ =
      VmmAllocator::Create(device_,
                           {.budget = 8 * kMiB, .slab_page_bytes = kPage})
          .value();
  TestMover mover_;
};

TEST_F(CompactTest, SparsePagesAreEmptied) {
  MakeSparse(8, 2);
  EXPECT_EQ(stats().live_physical_bytes, 2 * kChunk);
  EXPECT_EQ(Compact(), 7 * kPage);
  EXPECT_EQ(stats().reserved_bytes, kPage);
  EXPECT_EQ(stats().live_physical_bytes, kChunk);
  EXPECT_EQ(stats().moved_blocks, 14);
  EXPECT_EQ(stats().emptied_pages, 7);
  EXPECT_EQ(Compact(), 0u);
}

TEST_F(CompactTest, NothingMovesUnlessAPageIsGained) {
  MakeSparse(2, 9);
  const int64_t calls = device_.calls(Verb::kAny);
  EXPECT_EQ(allocator_->Compact(kAll, mover_).value(), 0u);
  EXPECT_EQ(device_.calls(Verb::kAny), calls);
  EXPECT_EQ(stats().moved_blocks, 0);
}

TEST_F(CompactTest, TheHostDoesNotWaitAndNoMemoryIsTaken) {
  MakeSparse(8, 2);
  const int64_t waits = device_.calls(Verb::kSynchronize);
  const int64_t calls = stats().vmm_calls;
  Compact();
  EXPECT_EQ(device_.calls(Verb::kSynchronize), waits);
  EXPECT_EQ(stats().vmm_calls, calls);
}

TEST_F(CompactTest, NoMoreMovesThanWhatIsAskedForTakes) {
  MakeSparse(8, 2);
  EXPECT_EQ(Compact(1), kPage);
  EXPECT_EQ(stats().moved_blocks, 2);
  EXPECT_EQ(Compact(2 * kPage), 3 * kPage) << "all of a chunk";
}

TEST_F(CompactTest, BlocksThatMustNotMoveStay) {
  MakeSparse(8, 2);
  for (const auto& [address, entry] : blocks()) {
    if (mover_.stuck.size() < 4) mover_.stuck.insert(address);
  }
  EXPECT_EQ(Compact(), 6 * kPage);
  for (DeviceAddress address : mover_.stuck) {
    EXPECT_TRUE(blocks().contains(address));
  }
}

TEST_F(CompactTest, NothingMovesWhenEveryPageHasABlockThatMustNot) {
  MakeSparse(8, 2);
  std::set<DeviceAddress> pages;
  for (const auto& [address, entry] : blocks()) {
    if (pages.insert(RoundDown(address, kPage)).second) {
      mover_.stuck.insert(address);
    }
  }
  EXPECT_EQ(Compact(), 0u);
  EXPECT_EQ(stats().moved_blocks, 0);
}

TEST_F(CompactTest, LargeBlocksAreNotAskedFor) {
  MakeSparse(2, 1);
  const Block large = Allocate(kChunk);
  EXPECT_FALSE(large.movable);
  Compact();
  EXPECT_TRUE(blocks().contains(large.address));
}

TEST_F(CompactTest, AFailedCopyLeavesTheBlockWhereItWas) {
  for (int64_t n = 1; n <= 14; ++n) {
    MakeSparse(8, 2);
    const auto before = stats();
    const absl::Status error = absl::InternalError("broken");
    device_.FailCall(Verb::kCopy, n, error);
    EXPECT_EQ(allocator_->Compact(kAll, mover_).status(), error);
    allocator_->CheckInvariants();
    ExpectBytes();
    EXPECT_EQ(stats().moved_blocks, before.moved_blocks + n - 1);
    EXPECT_EQ(stats().live_blocks, before.live_blocks);
    EXPECT_LE(stats().reserved_bytes, before.reserved_bytes);
    Compact();
    EXPECT_EQ(stats().reserved_bytes, kPage);
    while (!blocks().empty()) Free(blocks().begin()->first);
    EXPECT_EQ(stats().reserved_bytes, 0u);
  }
}

TEST_F(CompactTest, WhatRandomFreesLeaveIsDenseAfterwards) {
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) Allocate(1 + random() % 3000);
  std::vector<DeviceAddress> addresses;
  for (const auto& [address, entry] : blocks()) addresses.push_back(address);
  std::shuffle(addresses.begin(), addresses.end(), random);
  addresses.resize(3600);
  for (const DeviceAddress address : addresses) Free(address);
  const AllocatorStats before = stats();
  const size_t gained = Compact();
  std::printf("%zu of %zu KiB in pages gained, %lld moves\n", gained / kKiB,
              before.reserved_bytes / kKiB,
              static_cast<long long>(stats().moved_blocks));
  EXPECT_LT(stats().reserved_bytes * 2, before.reserved_bytes);
  EXPECT_EQ(Compact(), 0u);
}

TEST_F(CompactTest, AHistoryRemembersMoves) {
  HistoryAllocator history(
      VmmAllocator::Create(device_, {.budget = kMiB, .slab_page_bytes = kPage})
          .value(),
      1000);
  std::vector<Block> made;
  for (size_t i = 0; i < 2 * kSlots; ++i) {
    made.push_back(*history.Allocate(kBlock).value());
    mover_.content[made.back().address] = {made.back(), 1};
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (i % kSlots == 0) continue;
    history.Free(made[i]);
    mover_.content.erase(made[i].address);
  }
  EXPECT_EQ(history.Compact(kAll, mover_).value(), kPage);
  const std::vector<MemoryEvent> events = history.events();
  const MemoryEvent& to = events[events.size() - 2];
  const MemoryEvent& from = events.back();
  EXPECT_EQ(to.action, MemoryEvent::Action::kAllocate);
  EXPECT_EQ(from.action, MemoryEvent::Action::kFree);
  EXPECT_TRUE(mover_.content.contains(to.address));
  EXPECT_EQ(from.address, made[kSlots].address);
  mover_.content.clear();
}

}  // namespace
}  // namespace rekindle
