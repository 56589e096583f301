// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/bfc_allocator.h"

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/fault_injecting_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using Verb = FaultInjectingDevice::Verb;

class BfcAllocatorTest : public testing::Test {
 protected:
  BfcAllocatorTest() { Open(100 * kMiB); }
  ~BfcAllocatorTest() override {
    allocator_.reset();
    EXPECT_EQ(created(), 0u);
  }

  void Open(size_t budget) {
    allocator_.reset();
    allocator_ = BfcAllocator::Create(device_, {.budget = budget}).value();
  }

  std::optional<Block> Allocate(size_t bytes) {
    const std::optional<Block> block = allocator_->Allocate(bytes).value();
    allocator_->CheckInvariants();
    EXPECT_LE(created(), allocator_->stats().budget);
    return block;
  }

  void Free(Block block) {
    allocator_->Free(block);
    allocator_->CheckInvariants();
  }

  size_t created() const { return inner_->memory_info().created; }

  const std::unique_ptr<CountingDevice> inner_ =
      CountingDevice::Open({.capacity = kGiB}).value();
  FaultInjectingDevice device_{*inner_};
  std::unique_ptr<BfcAllocator> allocator_;
};

TEST_F(BfcAllocatorTest, SegmentsAreOfThreeSizes) {
  Allocate(1);
  EXPECT_EQ(created(), 2 * kMiB);
  Allocate(kMiB + 1);
  EXPECT_EQ(created(), 22 * kMiB);
  Allocate(10 * kMiB);
  EXPECT_EQ(created(), 22 * kMiB) << "there is room in that of 20 MiB";
  Allocate(10 * kMiB);
  EXPECT_EQ(created(), 32 * kMiB);
  Allocate(11 * kMiB);
  EXPECT_EQ(created(), 44 * kMiB);
  EXPECT_EQ(device_.calls(Verb::kMap), 4);
}

TEST_F(BfcAllocatorTest, SmallAndLargeBlocksDoNotMix) {
  Free(*Allocate(20 * kMiB));
  Allocate(kMiB);
  EXPECT_EQ(created(), 22 * kMiB);
}

TEST_F(BfcAllocatorTest, SmallBlocksShareASegment) {
  for (int i = 0; i < 4096; ++i) Allocate(512);
  EXPECT_EQ(created(), 2 * kMiB);
  EXPECT_EQ(allocator_->stats().reserved_bytes, 2 * kMiB);
}

TEST_F(BfcAllocatorTest, AWholeSegmentIsGivenOutIfLittleWouldRemain) {
  const Block block = *Allocate(20 * kMiB);
  Free(block);
  EXPECT_EQ(Allocate(19 * kMiB)->address, block.address);
  EXPECT_EQ(allocator_->stats().reserved_bytes, 20 * kMiB);
  EXPECT_EQ(allocator_->stats().requested_bytes, 19 * kMiB);
}

TEST_F(BfcAllocatorTest, TheSmallestFreePieceIsTaken) {
  const Block large = *Allocate(40 * kMiB);
  const Block small = *Allocate(24 * kMiB);
  Free(large);
  Free(small);
  EXPECT_EQ(Allocate(22 * kMiB)->address, small.address);
  EXPECT_EQ(Allocate(22 * kMiB)->address, large.address);
}

TEST_F(BfcAllocatorTest, FreePiecesOfASegmentMerge) {
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(*Allocate(5 * kMiB));
  EXPECT_EQ(created(), 20 * kMiB);
  for (const int i : {0, 2, 3, 1}) Free(blocks[i]);
  Allocate(20 * kMiB);
  EXPECT_EQ(created(), 20 * kMiB);
}

TEST_F(BfcAllocatorTest, FreePiecesOfTwoSegmentsDoNot) {
  Open(60 * kMiB);
  std::vector<Block> blocks;
  for (int i = 0; i < 3; ++i) blocks.push_back(*Allocate(20 * kMiB));
  const Block keep = *Allocate(0);
  Free(blocks[0]);
  const Block small = *Allocate(2 * kMiB);
  Free(blocks[1]);
  // 38 MiB are free, 18 of them in a segment with a live block.
  EXPECT_FALSE(Allocate(22 * kMiB).has_value());
  Free(small);
  EXPECT_TRUE(Allocate(22 * kMiB).has_value());
  Free(keep);
}

TEST_F(BfcAllocatorTest, FreeSegmentsGoBackWhenTheBudgetIsShort) {
  Free(*Allocate(60 * kMiB));
  EXPECT_EQ(device_.calls(Verb::kDestroy), 0);
  EXPECT_TRUE(Allocate(70 * kMiB).has_value());
  EXPECT_EQ(device_.calls(Verb::kDestroy), 1);
  EXPECT_EQ(created(), 70 * kMiB);
}

TEST_F(BfcAllocatorTest, TrimAndALowerBudgetGiveFreeSegmentsBack) {
  const Block block = *Allocate(30 * kMiB);
  Free(*Allocate(40 * kMiB));
  ASSERT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(created(), 30 * kMiB);
  ASSERT_THAT(allocator_->SetBudget(20 * kMiB), IsOk());
  EXPECT_EQ(created(), 30 * kMiB);
  EXPECT_FALSE(allocator_->Allocate(1).value().has_value());
  Free(block);
  EXPECT_EQ(created(), 0u);
}

TEST_F(BfcAllocatorTest, AFailedCallLeavesNothingBehind) {
  const absl::Status error = absl::InternalError("injected");
  for (const Verb verb : {Verb::kReserve, Verb::kCreate, Verb::kMap}) {
    device_.FailCall(verb, 1, error);
    EXPECT_EQ(allocator_->Allocate(kMiB).status(), error);
    allocator_->CheckInvariants();
    EXPECT_EQ(created(), 0u);
    EXPECT_EQ(allocator_->stats().physical_bytes, 0u);
    device_.Clear();
  }
  EXPECT_TRUE(Allocate(kMiB).has_value());
}

TEST_F(BfcAllocatorTest, RandomRequestsKeepTheInvariants) {
  Open(200 * kMiB);
  std::mt19937_64 random(1);
  std::vector<Block> live;
  for (int step = 0; step < 20000; ++step) {
    if (!live.empty() && random() % 2 == 0) {
      std::swap(live[random() % live.size()], live.back());
      allocator_->Free(live.back());
      live.pop_back();
    } else {
      const size_t bytes = 1 + random() % (size_t{1} << (random() % 26));
      const auto block = allocator_->Allocate(bytes).value();
      if (block.has_value()) live.push_back(*block);
    }
    ASSERT_LE(created(), 200 * kMiB);
    if (step % 100 == 0) allocator_->CheckInvariants();
  }
  EXPECT_EQ(allocator_->stats().live_blocks, static_cast<int64_t>(live.size()));
}

using BfcAllocatorDeathTest = BfcAllocatorTest;

TEST_F(BfcAllocatorDeathTest, ABlockIsFreedOnceAndUnchanged) {
  const Block block = *Allocate(5000);
  EXPECT_DEATH(allocator_->Free({block.address, 4999}), "live block");
  Free(block);
  EXPECT_DEATH(allocator_->Free(block), "live block");
}

TEST_F(BfcAllocatorTest, SegmentThatCannotBeDestroyedIsTriedAgain) {
  Open(64 * kMiB);
  Free(*Allocate(3 * kMiB));
  device_.FailCall(Verb::kDestroy, 1, absl::InternalError("broken"));
  EXPECT_EQ(allocator_->Trim().code(), absl::StatusCode::kInternal);
  allocator_->CheckInvariants();
  EXPECT_EQ(allocator_->stats().physical_bytes, 20 * kMiB);
  Free(*Allocate(3 * kMiB));  // from memory that is mapped
  EXPECT_TRUE(allocator_->Trim().ok());
  allocator_->CheckInvariants();
  EXPECT_EQ(allocator_->stats().physical_bytes, 0u);
}

}  // namespace
}  // namespace rekindle
