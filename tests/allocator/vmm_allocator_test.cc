// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/vmm_allocator.h"

#include <memory>
#include <string>

#include "tests/allocator/vmm_allocator_fixture.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using testing::HasSubstr;
using Verb = FaultInjectingDevice::Verb;

TEST_F(VmmAllocatorTest, OptionsOutOfRangeAreNamed) {
  const auto odd_chunk = VmmAllocator::Create(device_, {.chunk_bytes = 5000});
  EXPECT_THAT(odd_chunk, IsInvalidArgument());
  EXPECT_THAT(odd_chunk.status().ToString(), HasSubstr("chunk_bytes 5000"));
  const auto odd_page =
      VmmAllocator::Create(device_, {.slab_page_bytes = 5000});
  EXPECT_THAT(odd_page, IsInvalidArgument());
  EXPECT_THAT(odd_page.status().ToString(), HasSubstr("slab_page_bytes 5000"));
  EXPECT_THAT(VmmAllocator::Create(device_, {.small_block_limit = 2048,
                                             .slab_page_bytes = 1024}),
              IsInvalidArgument());
  EXPECT_THAT(VmmAllocator::Create(device_, {.small_block_limit = 2 * kMiB}),
              IsInvalidArgument());
}

TEST_F(VmmAllocatorTest, ADeviceWithoutAddressesIsAnError) {
  device_.FailCall(Verb::kReserve, 1, absl::InternalError("broken"));
  EXPECT_THAT(VmmAllocator::Create(device_, {.budget = kMiB}),
              HasCode(absl::StatusCode::kInternal));
  device_.FailCall(Verb::kReserve, 1, absl::ResourceExhaustedError("no"), 100);
  EXPECT_THAT(VmmAllocator::Create(device_, {.budget = kMiB}),
              IsResourceExhausted());
  device_.Clear();
}

TEST_F(VmmAllocatorTest, ABlockHasWhatWasAskedFor) {
  const std::optional<Block> block = Allocate(100'000);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->bytes, 100'000u);
  EXPECT_EQ(block->address % 512, 0u);
  const std::optional<Block> small = Allocate(100);
  EXPECT_EQ(small->bytes, 100u);
  EXPECT_EQ(small->address % 256, 0u);
}

TEST_F(VmmAllocatorTest, NoBytesTakeNothing) {
  const std::optional<Block> block = Allocate(0);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->address, 0u);
  allocator_->Free(*block);
  EXPECT_EQ(allocator_->WorstCaseBytes(0), 0u);
  EXPECT_EQ(allocator_->stats().live_blocks, 0);
  EXPECT_EQ(created(), 0u);
}

TEST_F(VmmAllocatorTest, MoreThanTheBudgetDoesNotFit) {
  EXPECT_FALSE(Allocate(8 * kChunk + 1).has_value());
  EXPECT_FALSE(Allocate(~size_t{0}).has_value());
  EXPECT_TRUE(Allocate(8 * kChunk).has_value());
  EXPECT_FALSE(Allocate(1).has_value());
}

TEST_F(VmmAllocatorTest, OnlyWholeChunksOfTheBudgetAreUsed) {
  Open({.budget = 2 * kChunk - 1});
  EXPECT_FALSE(Allocate(kChunk + 512).has_value());
  EXPECT_TRUE(Allocate(kChunk).has_value());
  Open({.budget = kChunk - 1});
  EXPECT_FALSE(Allocate(1).has_value());
  Open({.budget = 0});
  EXPECT_FALSE(Allocate(1).has_value());
}

TEST_F(VmmAllocatorTest, StatsCountBytesAndCalls) {
  const std::optional<Block> large = Allocate(kChunk + 1);
  const std::optional<Block> small = Allocate(300);
  AllocatorStats stats = allocator_->stats();
  EXPECT_EQ(stats.budget, 8 * kChunk);
  EXPECT_EQ(stats.requested_bytes, kChunk + 301);
  EXPECT_EQ(stats.reserved_bytes, kChunk + 512 + kChunk);
  EXPECT_EQ(stats.live_physical_bytes, 3 * kChunk);
  EXPECT_EQ(stats.physical_bytes, 3 * kChunk);
  EXPECT_EQ(stats.live_blocks, 2);
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.vmm_calls, 5);
  allocator_->Free(*large);
  allocator_->Free(*small);
  stats = allocator_->stats();
  EXPECT_EQ(stats.requested_bytes, 0u);
  EXPECT_EQ(stats.reserved_bytes, 0u);
  EXPECT_EQ(stats.live_physical_bytes, 0u);
  EXPECT_EQ(stats.physical_bytes, 3 * kChunk);
  EXPECT_EQ(stats.peak_physical_bytes, 3 * kChunk);
  EXPECT_EQ(stats.live_blocks, 0);
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.vmm_calls, 5);
  EXPECT_EQ(stats.refusals, 0);
}

TEST_F(VmmAllocatorTest, ALoweredBudgetGivesCachedMemoryBackAtOnce) {
  const std::optional<Block> first = Allocate(4 * kChunk);
  const std::optional<Block> second = Allocate(2 * kChunk);
  allocator_->Free(*first);
  ASSERT_THAT(allocator_->SetBudget(3 * kChunk), IsOk());
  EXPECT_EQ(created(), 3 * kChunk);
  ASSERT_THAT(allocator_->SetBudget(kChunk), IsOk());
  EXPECT_EQ(created(), 2 * kChunk);
  allocator_->Free(*second);
  EXPECT_EQ(created(), kChunk);
}

TEST_F(VmmAllocatorTest, ARaisedBudgetIsUsed) {
  ASSERT_TRUE(Allocate(8 * kChunk).has_value());
  ASSERT_THAT(allocator_->SetBudget(60 * kChunk), IsOk());
  EXPECT_TRUE(Allocate(52 * kChunk).has_value());
}

TEST_F(VmmAllocatorTest, TrimGivesCachedMemoryBack) {
  const std::optional<Block> block = Allocate(4 * kChunk);
  ASSERT_TRUE(Allocate(1).has_value());
  allocator_->Free(*block);
  ASSERT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(created(), kChunk);
}

TEST_F(VmmAllocatorTest, ItsEndGivesLiveMemoryBackToo) {
  ASSERT_TRUE(Allocate(3 * kChunk).has_value());
  ASSERT_TRUE(Allocate(100).has_value());
  allocator_.reset();
  EXPECT_EQ(created(), 0u);
  EXPECT_EQ(device_.calls(Verb::kRelease), device_.calls(Verb::kReserve));
}

TEST_F(VmmAllocatorTest, EmptySlabPagesGiveWayToLargeBlocks) {
  std::vector<Block> blocks;
  while (const std::optional<Block> block = Allocate(1000)) {
    blocks.push_back(*block);
  }
  EXPECT_EQ(blocks.size(), 8 * (kChunk / 1024));
  for (const Block& block : blocks) allocator_->Free(block);
  EXPECT_TRUE(Allocate(8 * kChunk).has_value());
}

TEST_F(VmmAllocatorTest, ASmallBlockTakesAGapWhereNoPageFits) {
  const std::optional<Block> first = Allocate(8 * kChunk - 5000);
  ASSERT_TRUE(first.has_value());
  const std::optional<Block> small = Allocate(700);
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->address % 512, 0u);
  allocator_->Free(*small);
  allocator_->Free(*first);
}

TEST_F(VmmAllocatorTest, SmallBlocksCanBeSwitchedOff) {
  Open({.budget = 8 * kChunk, .small_block_limit = 0});
  ASSERT_TRUE(Allocate(100).has_value());
  EXPECT_EQ(allocator_->stats().reserved_bytes, 512u);
}

TEST_F(VmmAllocatorTest, ChunksMayBeLargerThanTheGranularity) {
  Open({.budget = 9 * kChunk, .chunk_bytes = 3 * kChunk});
  ASSERT_TRUE(Allocate(5000).has_value());
  EXPECT_EQ(created(), 3 * kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(5000), 3 * kChunk);
}

TEST_F(VmmAllocatorTest, TheWorstCaseIsWholeChunks) {
  EXPECT_EQ(allocator_->WorstCaseBytes(1), kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(5000), kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(kChunk), kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(10 * kChunk), 11 * kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(~size_t{0}), ~size_t{0});
  Open({.budget = 8 * kChunk, .tight_limit = ~size_t{0}});
  EXPECT_EQ(allocator_->WorstCaseBytes(10 * kChunk), 10 * kChunk);
}

TEST_F(VmmAllocatorTest, TheDevicesRefusalsAreCounted) {
  device_.FailCall(Verb::kCreate, 1, absl::ResourceExhaustedError("taken"));
  EXPECT_FALSE(Allocate(5000).has_value());
  EXPECT_EQ(allocator_->stats().refusals, 1);
}

TEST_F(VmmAllocatorTest, ErrorsOfTheDeviceAreReported) {
  const absl::Status error = absl::InternalError("broken");
  device_.FailCall(Verb::kCreate, 1, error);
  EXPECT_EQ(allocator_->Allocate(5000).status(), error);
  device_.FailCall(Verb::kMap, 1, error);
  EXPECT_EQ(allocator_->Allocate(100).status(), error);
  allocator_->Free(*Allocate(5000));
  device_.FailCall(Verb::kUnmap, 1, error);
  EXPECT_EQ(allocator_->Trim(), error);
  device_.FailCall(Verb::kDestroy, 1, error);
  EXPECT_EQ(allocator_->SetBudget(0), error);
  allocator_->CheckInvariants();
  EXPECT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(created(), 0u);
}

using VmmAllocatorDeathTest = VmmAllocatorTest;

TEST_F(VmmAllocatorDeathTest, OnlyLiveBlocksCanBeFreed) {
  const Block block = *Allocate(5000);
  EXPECT_DEATH(allocator_->Free({block.address + 512, 5000}), "live block");
  EXPECT_DEATH(allocator_->Free({block.address, 4999}), "live block");
  allocator_->Free(block);
  EXPECT_DEATH(allocator_->Free(block), "live block");
}

}  // namespace
}  // namespace rekindle
