// SPDX-License-Identifier: Apache-2.0
// Which waits the allocators make, and which not.
#include <memory>
#include <optional>
#include <vector>

#include "rekindle/allocator/bfc_allocator.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "tests/allocator/busy_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Verb = FaultInjectingDevice::Verb;

constexpr size_t kChunk = 64 * kKiB;

class AllocatorStreamsTest : public testing::Test {
 protected:
  AllocatorStreamsTest() {
    a_ = device_.CreateStream().value();
    b_ = device_.CreateStream().value();
  }
  ~AllocatorStreamsTest() override { allocator_->CheckInvariants(); }

  Block Allocate(size_t bytes, Stream stream) {
    return allocator_->Allocate(bytes, stream).value().value();
  }

  // Blocks of a chunk each that fill the budget of eight.
  std::vector<Block> FillUp(Stream stream) {
    std::vector<Block> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(Allocate(kChunk, stream));
    return blocks;
  }

  int64_t events() const {
    return device_.calls(Verb::kRecord) + device_.calls(Verb::kStreamWait) +
           device_.calls(Verb::kHasHappened) +
           device_.calls(Verb::kCreateEvent);
  }

  const std::unique_ptr<CountingDevice> inner_ =
      CountingDevice::Open({.capacity = 64 * kChunk, .granularity = kChunk})
          .value();
  BusyDevice device_{*inner_};
  std::unique_ptr<Allocator> allocator_ =
      VmmAllocator::Create(device_, {.budget = 8 * kChunk}).value();
  Stream a_, b_;
  const absl::Status error_ = absl::InternalError("broken");
};

TEST_F(AllocatorStreamsTest, HitsOfOneStreamMakeNoEventsAndNoWaits) {
  for (const size_t bytes : {size_t{1000}, kChunk / 2, 3 * kChunk}) {
    for (const Stream stream : {Stream(), a_}) {
      allocator_->Free(Allocate(bytes, stream), stream);
      ASSERT_THAT(allocator_->Trim(), IsOk());
      const int64_t before = events();
      for (int i = 0; i < 100; ++i) {
        allocator_->Free(Allocate(bytes, stream), stream);
      }
      EXPECT_EQ(events(), before);
    }
  }
  EXPECT_EQ(inner_->counters().synchronize, 0);
}

TEST_F(AllocatorStreamsTest, AnotherStreamWaitsByOneEvent) {
  for (const size_t bytes : {size_t{1000}, kChunk}) {
    const Block first = Allocate(bytes, a_);
    const Block second = Allocate(bytes, a_);
    allocator_->Free(first, a_);
    allocator_->Free(second, a_);
    EXPECT_EQ(Allocate(bytes, b_).address, first.address);
    EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(b_.handle, a_.handle)));
    Allocate(bytes, b_);
    EXPECT_THAT(device_.TakeWaits(), IsEmpty());
  }
  EXPECT_EQ(inner_->counters().synchronize, 0);
}

TEST_F(AllocatorStreamsTest, FreedOnTwoStreamsWaitsForTheOther) {
  const Block block = Allocate(kChunk, a_);
  allocator_->Free(block, {a_, b_});
  Allocate(kChunk, b_);
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(b_.handle, a_.handle)));
}

TEST_F(AllocatorStreamsTest, ABlockNobodyUsedKeepsItsOldUse) {
  allocator_->Free(Allocate(8 * kChunk, a_), a_);
  const Block unused = Allocate(kChunk, a_);
  allocator_->Free(unused, absl::Span<const Stream>());
  Allocate(8 * kChunk, b_);
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(b_.handle, a_.handle)));
}

TEST_F(AllocatorStreamsTest, OfEqualFitsOneThatNeedsNoWaitIsTaken) {
  std::vector<Block> blocks = FillUp(a_);
  allocator_->Free(blocks[1], b_);
  allocator_->Free(blocks[3], a_);
  EXPECT_EQ(Allocate(kChunk, b_).address, blocks[1].address);
  EXPECT_EQ(Allocate(kChunk, a_).address, blocks[3].address);
  EXPECT_THAT(device_.TakeWaits(), IsEmpty());
}

TEST_F(AllocatorStreamsTest, OfSlabPagesOneThatNeedsNoWaitIsUsed) {
  std::vector<Block> first_page;
  for (int i = 0; i < 16; ++i) first_page.push_back(Allocate(4096, a_));
  const Block second_page = Allocate(4096, b_);
  ASSERT_GT(second_page.address, first_page.back().address);
  allocator_->Free(first_page[3], a_);
  EXPECT_EQ(Allocate(4096, b_).address, second_page.address + 4096);
  EXPECT_EQ(Allocate(4096, a_).address, first_page[3].address);
  EXPECT_THAT(device_.TakeWaits(), IsEmpty());
}

TEST_F(AllocatorStreamsTest, ASlabPageRemembersWhoUsedItsMemoryBefore) {
  allocator_->Free(Allocate(kChunk, a_), a_);
  Allocate(1000, b_);
  Allocate(1000, Stream());
  EXPECT_THAT(device_.TakeWaits(),
              ElementsAre(Pair(b_.handle, a_.handle), Pair(0, a_.handle)));
}

TEST_F(AllocatorStreamsTest, MemoryThatNobodyUsesMovesFirst) {
  std::vector<Block> blocks = FillUp(a_);
  device_.SetBusy(b_);
  for (const int i : {1, 3, 5, 7}) allocator_->Free(blocks[i], i < 4 ? b_ : a_);
  Allocate(2 * kChunk, a_);
  EXPECT_EQ(inner_->counters().synchronize, 0);
  EXPECT_THAT(device_.TakeWaits(), IsEmpty());
  EXPECT_EQ(allocator_->Allocate(kChunk, b_).value()->address,
            blocks[3].address)
      << "that of b is still where it was";
}

TEST_F(AllocatorStreamsTest, TheHostWaitsWhenNothingElseIsLeft) {
  std::vector<Block> blocks = FillUp(a_);
  device_.SetBusy(b_);
  for (const int i : {1, 3, 5, 7}) allocator_->Free(blocks[i], i < 6 ? b_ : a_);
  Allocate(3 * kChunk, a_);
  EXPECT_EQ(inner_->counters().synchronize, 1);
}

TEST_F(AllocatorStreamsTest, TrimWaitsForAll) {
  device_.SetBusy(b_);
  device_.SetBusy(a_);
  allocator_->Free(Allocate(kChunk, a_), {a_, b_});
  ASSERT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(inner_->counters().synchronize, 2);
  EXPECT_EQ(inner_->memory_info().created, 0u);
}

TEST_F(AllocatorStreamsTest, ABlockFreedOnAStreamThatEndedNeedsNoWait) {
  const Block block = Allocate(kChunk, a_);
  allocator_->Free(block, a_);
  ASSERT_THAT(device_.DestroyStream(a_), IsOk());
  allocator_->StreamEnded(a_);
  EXPECT_EQ(Allocate(kChunk, b_).address, block.address);
  ASSERT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(events(), 0);
}

TEST_F(AllocatorStreamsTest, AWaitThatFailsLeavesTheBlockFree) {
  for (const size_t bytes : {size_t{1000}, kChunk}) {
    // The other small block keeps the page.
    const Block kept = Allocate(bytes, a_);
    const Block block = Allocate(bytes, a_);
    allocator_->Free(block, a_);
    for (const Verb verb : {Verb::kRecord, Verb::kStreamWait}) {
      device_.FailCall(verb, 1, error_);
      const AllocatorStats before = allocator_->stats();
      EXPECT_EQ(allocator_->Allocate(bytes, b_).status(), error_);
      EXPECT_EQ(allocator_->stats().live_blocks, before.live_blocks);
      EXPECT_EQ(allocator_->stats().reserved_bytes, before.reserved_bytes);
      allocator_->CheckInvariants();
    }
    EXPECT_EQ(Allocate(bytes, b_).address, block.address);
    allocator_->Free(kept, a_);
  }
}

TEST_F(AllocatorStreamsTest, AnEventThatIsRefusedMeansThatItDoesNotFit) {
  allocator_->Free(Allocate(8 * kChunk, a_), a_);
  device_.FailCall(Verb::kCreateEvent, 1, absl::ResourceExhaustedError("no"));
  EXPECT_EQ(allocator_->Allocate(kChunk, b_).value(), std::nullopt);
  EXPECT_EQ(allocator_->stats().refusals, 1);
  Allocate(kChunk, b_);
}

class BfcStreamsTest : public AllocatorStreamsTest {
 protected:
  BfcStreamsTest() {
    allocator_ = BfcAllocator::Create(device_, {.budget = 4 * kMiB}).value();
    before_ = inner_->counters().synchronize;
  }

  int64_t host_waits() const {
    return inner_->counters().synchronize - before_;
  }

 private:
  int64_t before_ = 0;
};

TEST_F(BfcStreamsTest, OnlyAnotherStreamWaits) {
  const Block block = Allocate(kChunk, a_);
  allocator_->Free(block, a_);
  EXPECT_EQ(Allocate(kChunk, a_).address, block.address);
  EXPECT_EQ(events(), 0);
  allocator_->Free(block, a_);
  device_.FailCall(Verb::kStreamWait, 1, error_);
  EXPECT_EQ(allocator_->Allocate(kChunk, b_).status(), error_);
  allocator_->CheckInvariants();
  EXPECT_EQ(Allocate(kChunk, b_).address, block.address);
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(b_.handle, a_.handle)));
  EXPECT_EQ(host_waits(), 0);
}

TEST_F(BfcStreamsTest, ASegmentGoesBackWhenNobodyUsesIt) {
  allocator_->Free(Allocate(kChunk, a_), a_);
  ASSERT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(host_waits(), 0);
  device_.SetBusy(a_);
  allocator_->Free(Allocate(kChunk, a_), a_);
  ASSERT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(host_waits(), 1);
  EXPECT_EQ(inner_->memory_info().created, 0u);
}

}  // namespace
}  // namespace rekindle
