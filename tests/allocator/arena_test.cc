// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/arena.h"

#include <memory>
#include <vector>

#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/fault_injecting_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using Verb = FaultInjectingDevice::Verb;

constexpr size_t kChunk = 64 * kKiB;

class ArenaTest : public testing::Test {
 protected:
  explicit ArenaTest(size_t chunks = 8) : ledger_(chunks * kChunk) {
    EXPECT_THAT(arena_->Open(), IsOk());
  }
  ~ArenaTest() override {
    if (arena_ != nullptr) arena_->CheckInvariants();
  }

  // A live range, or nullptr.
  Range* Allocate(size_t bytes) {
    const absl::StatusOr<Range*> range = arena_->Allocate(bytes, Stream());
    arena_->CheckInvariants();
    EXPECT_LE(created(), ledger_.budget());
    return range.value();
  }

  void Free(Range* range) {
    arena_->Free(range, arena_->order().Use(Stream()));
    arena_->CheckInvariants();
  }

  size_t created() const { return inner_->memory_info().created; }
  size_t live_chunks() const { return arena_->live_physical_bytes() / kChunk; }

  const absl::Status error_ = absl::InternalError("injected");
  const absl::Status refusal_ = absl::ResourceExhaustedError("taken");
  const std::unique_ptr<CountingDevice> inner_ =
      CountingDevice::Open({.capacity = 64 * kChunk, .granularity = kChunk})
          .value();
  FaultInjectingDevice device_{*inner_};
  Ledger ledger_;
  std::unique_ptr<Arena> arena_ =
      std::make_unique<Arena>(device_, ledger_, kChunk, kChunk);
};

TEST_F(ArenaTest, MemoryIsTakenWhenABlockTouchesIt) {
  EXPECT_EQ(created(), 0u);
  Range* const range = Allocate(kChunk + 512);
  ASSERT_NE(range, nullptr);
  EXPECT_EQ(range->bytes, kChunk + 512);
  EXPECT_EQ(range->address % Arena::kAlignment, 0u);
  EXPECT_EQ(created(), 2 * kChunk);
  EXPECT_EQ(live_chunks(), 2u);
  EXPECT_EQ(arena_->live_bytes(), kChunk + 512);
  EXPECT_EQ(device_.calls(Verb::kMap), 1);
}

TEST_F(ArenaTest, BlocksShareChunks) {
  for (int i = 0; i < 128; ++i) ASSERT_NE(Allocate(512), nullptr);
  EXPECT_EQ(created(), kChunk);
}

TEST_F(ArenaTest, MemoryOfFreedBlocksIsCached) {
  Free(Allocate(3 * kChunk));
  EXPECT_EQ(created(), 3 * kChunk);
  EXPECT_EQ(live_chunks(), 0u);
  const int64_t before = arena_->vmm_calls();
  ASSERT_NE(Allocate(3 * kChunk), nullptr);
  EXPECT_EQ(arena_->vmm_calls(), before);
}

TEST_F(ArenaTest, NothingIsUnmappedWhileTheBudgetHasRoom) {
  Free(Allocate(kChunk));
  ASSERT_NE(Allocate(7 * kChunk), nullptr);
  EXPECT_EQ(device_.calls(Verb::kUnmap), 0);
  EXPECT_EQ(device_.calls(Verb::kSynchronize), 0);
}

TEST_F(ArenaTest, ARequestAboveTheBudgetDoesNotFit) {
  EXPECT_EQ(Allocate(8 * kChunk + 512), nullptr);
  EXPECT_EQ(created(), 0u);
  EXPECT_EQ(arena_->vmm_calls(), 0);
}

TEST_F(ArenaTest, IdleChunksAreMovedToWhereTheyAreNeeded) {
  std::vector<Range*> ranges;
  for (int i = 0; i < 8; ++i) ranges.push_back(Allocate(kChunk));
  for (int i = 0; i < 8; i += 2) Free(ranges[i]);
  // Four idle chunks, none beside another.
  ASSERT_NE(Allocate(4 * kChunk), nullptr);
  EXPECT_EQ(created(), 8 * kChunk);
  EXPECT_EQ(device_.calls(Verb::kCreate), 8);
  EXPECT_EQ(device_.calls(Verb::kHasHappened), 1) << "once for all";
  EXPECT_EQ(device_.calls(Verb::kSynchronize), 0);
  EXPECT_EQ(Allocate(512), nullptr);
}

TEST_F(ArenaTest, ALiveBlockInAChunkKeepsIt) {
  Range* const whole = Allocate(8 * kChunk);
  Free(whole);
  Range* const small = Allocate(512);
  EXPECT_EQ(Allocate(8 * kChunk), nullptr);
  EXPECT_NE(Allocate(7 * kChunk), nullptr);
  Free(small);
}

TEST_F(ArenaTest, GapsInLiveChunksAreUsedWhenNoChunkIsLeft) {
  Range* const first = Allocate(kChunk);
  ASSERT_NE(Allocate(7 * kChunk), nullptr);
  Free(first);
  ASSERT_NE(Allocate(kChunk / 2), nullptr);
  ASSERT_NE(Allocate(kChunk / 2), nullptr);
  EXPECT_EQ(Allocate(512), nullptr);
}

TEST_F(ArenaTest, ALowerBudgetIsKeptAsBlocksAreFreed) {
  Range* const first = Allocate(3 * kChunk);
  Range* const second = Allocate(3 * kChunk);
  Free(Allocate(2 * kChunk));
  ledger_.SetBudget(4 * kChunk);
  ASSERT_THAT(arena_->GiveBackExcess(), IsOk());
  EXPECT_EQ(created(), 6 * kChunk) << "live blocks are not touched";
  EXPECT_EQ(arena_->Allocate(512, Stream()).value(), nullptr);
  arena_->Free(first, arena_->order().Use(Stream()));
  EXPECT_EQ(created(), 4 * kChunk);
  EXPECT_EQ(live_chunks(), 3u);
  EXPECT_NE(Allocate(kChunk), nullptr);
  Free(second);
  EXPECT_EQ(created(), 4 * kChunk);
}

TEST_F(ArenaTest, AboveALoweredBudgetNotEvenAGapIsGivenOut) {
  Range* const first = Allocate(kChunk);
  ASSERT_NE(Allocate(3 * kChunk - 512), nullptr);
  ledger_.SetBudget(3 * kChunk);
  EXPECT_EQ(arena_->Allocate(512, Stream()).value(), nullptr);
  arena_->Free(first, arena_->order().Use(Stream()));
  EXPECT_NE(Allocate(512), nullptr);
}

TEST_F(ArenaTest, AnExcessThatCouldNotBeGivenBackIsTriedAgain) {
  Range* const range = Allocate(4 * kChunk);
  ledger_.SetBudget(2 * kChunk);
  device_.FailCall(Verb::kUnmap, 1, error_, 2);
  arena_->Free(range, arena_->order().Use(Stream()));
  EXPECT_EQ(created(), 4 * kChunk);
  EXPECT_EQ(arena_->Allocate(512, Stream()).status(), error_);
  EXPECT_NE(Allocate(512), nullptr);
  EXPECT_EQ(created(), 2 * kChunk);
}

TEST_F(ArenaTest, TrimGivesAllButLiveMemoryBack) {
  Range* const first = Allocate(2 * kChunk);
  Range* const second = Allocate(512);
  Free(first);
  ASSERT_THAT(arena_->Trim(), IsOk());
  EXPECT_EQ(created(), kChunk);
  Free(second);
  ASSERT_THAT(arena_->Trim(), IsOk());
  EXPECT_EQ(created(), 0u);
  ASSERT_THAT(arena_->Trim(), IsOk());
}

TEST_F(ArenaTest, TheDeviceMayHaveLessThanTheBudget) {
  Free(Allocate(2 * kChunk));
  Range* const keep = Allocate(512);
  device_.FailCall(Verb::kCreate, 2, refusal_, 100);
  EXPECT_EQ(Allocate(5 * kChunk), nullptr);
  EXPECT_EQ(arena_->refusals(), 1);
  EXPECT_EQ(created(), 2 * kChunk) << "what was got in vain is given back";
  EXPECT_NE(Allocate(kChunk), nullptr);
  EXPECT_EQ(Allocate(kChunk), nullptr);
  Free(keep);
}

TEST_F(ArenaTest, IdleChunksDoWhereTheDeviceRefuses) {
  std::vector<Range*> ranges;
  for (int i = 0; i < 6; ++i) ranges.push_back(Allocate(kChunk));
  for (int i = 0; i < 6; i += 2) Free(ranges[i]);
  device_.FailCall(Verb::kCreate, 1, refusal_, 100);
  EXPECT_NE(Allocate(3 * kChunk), nullptr);
  EXPECT_EQ(arena_->refusals(), 1);
  EXPECT_EQ(created(), 6 * kChunk);
}

TEST_F(ArenaTest, AFailedCreateGivesBackThoseBeforeIt) {
  device_.FailCall(Verb::kCreate, 3, error_);
  EXPECT_EQ(arena_->Allocate(4 * kChunk, Stream()).status(), error_);
  EXPECT_EQ(created(), 0u);
  EXPECT_NE(Allocate(4 * kChunk), nullptr);
}

// A request that must be mapped on both sides of a cached chunk.
class TwoMapsTest : public ArenaTest {
 protected:
  TwoMapsTest() {
    Range* const left = Allocate(kChunk);
    Range* const middle = Allocate(kChunk);
    Range* const right = Allocate(kChunk);
    Free(left);
    Free(right);
    EXPECT_THAT(arena_->Trim(), IsOk());
    Free(middle);
  }
};

TEST_F(TwoMapsTest, EachSideIsOneMap) {
  const int64_t before = device_.calls(Verb::kMap);
  EXPECT_NE(Allocate(3 * kChunk), nullptr);
  EXPECT_EQ(device_.calls(Verb::kMap), before + 2);
  EXPECT_EQ(created(), 3 * kChunk);
}

TEST_F(TwoMapsTest, AFailedMapUndoesTheOneBeforeIt) {
  for (const int n : {1, 2}) {
    device_.FailCall(Verb::kMap, n, error_);
    EXPECT_EQ(arena_->Allocate(3 * kChunk, Stream()).status(), error_);
    arena_->CheckInvariants();
    EXPECT_EQ(created(), kChunk);
    EXPECT_EQ(arena_->live_bytes(), 0u);
    EXPECT_EQ(live_chunks(), 0u);
  }
  EXPECT_NE(Allocate(3 * kChunk), nullptr);
}

TEST_F(TwoMapsTest, MemoryThatCannotBeUnmappedAgainIsCached) {
  device_.FailCall(Verb::kMap, 2, error_);
  device_.FailCall(Verb::kUnmap, 1, error_);
  EXPECT_EQ(arena_->Allocate(3 * kChunk, Stream()).status(), error_);
  arena_->CheckInvariants();
  EXPECT_EQ(created(), 2 * kChunk);
  EXPECT_EQ(live_chunks(), 0u);
  EXPECT_NE(Allocate(3 * kChunk), nullptr);
}

TEST_F(TwoMapsTest, MemoryThatCannotBeDestroyedAgainIsSpare) {
  device_.FailCall(Verb::kMap, 2, error_);
  device_.FailCall(Verb::kDestroy, 1, error_);
  EXPECT_EQ(arena_->Allocate(3 * kChunk, Stream()).status(), error_);
  arena_->CheckInvariants();
  EXPECT_EQ(created(), 3 * kChunk);
  EXPECT_NE(Allocate(8 * kChunk), nullptr);
}

TEST_F(ArenaTest, AFailedQuestionChangesNothing) {
  std::vector<Range*> ranges;
  for (int i = 0; i < 8; ++i) ranges.push_back(Allocate(kChunk));
  Free(ranges[1]);
  Free(ranges[3]);
  for (const Verb verb :
       {Verb::kCreateEvent, Verb::kRecord, Verb::kHasHappened}) {
    device_.FailCall(verb, 1, error_);
    EXPECT_EQ(arena_->Allocate(2 * kChunk, Stream()).status(), error_);
    arena_->CheckInvariants();
  }
  EXPECT_EQ(device_.calls(Verb::kUnmap), 0);
  EXPECT_NE(Allocate(2 * kChunk), nullptr);
}

TEST_F(ArenaTest, AMapThatIsRefusedMeansThatItDoesNotFit) {
  device_.FailCall(Verb::kMap, 1, refusal_);
  EXPECT_EQ(Allocate(kChunk), nullptr);
  EXPECT_EQ(arena_->refusals(), 1);
  EXPECT_EQ(created(), 0u);
  EXPECT_NE(Allocate(kChunk), nullptr);
}

TEST_F(ArenaTest, TheWorstCaseIsSaturated) {
  EXPECT_EQ(arena_->WorstCaseBytes(1), kChunk);
  EXPECT_EQ(arena_->WorstCaseBytes(kChunk), kChunk);
  EXPECT_EQ(arena_->WorstCaseBytes(kChunk + 1), 2 * kChunk);
  EXPECT_EQ(arena_->WorstCaseBytes(2 * kChunk), 3 * kChunk);
  EXPECT_EQ(arena_->WorstCaseBytes(~size_t{0}), ~size_t{0});
}

// Addresses for four chunks, eight times over.
class FewAddressesTest : public ArenaTest {
 protected:
  FewAddressesTest() : ArenaTest(4) {}
};

TEST_F(FewAddressesTest, ALargerBudgetGetsLargerAddresses) {
  ledger_.SetBudget(60 * kChunk);
  EXPECT_NE(Allocate(60 * kChunk), nullptr);
  EXPECT_EQ(device_.calls(Verb::kReserve), 2);
}

TEST_F(FewAddressesTest, NoAddressesMeansThatItDoesNotFit) {
  ledger_.SetBudget(60 * kChunk);
  device_.FailCall(Verb::kReserve, 1, refusal_, 100);
  EXPECT_EQ(Allocate(60 * kChunk), nullptr);
  EXPECT_EQ(arena_->refusals(), 1);
  device_.Clear();
  device_.FailCall(Verb::kReserve, 1, error_);
  EXPECT_EQ(arena_->Allocate(60 * kChunk, Stream()).status(), error_);
  EXPECT_EQ(created(), 0u);
}

TEST_F(FewAddressesTest, FewerAddressesAreAskedForWhenManyAreRefused) {
  ledger_.SetBudget(60 * kChunk);
  device_.FailCall(Verb::kReserve, 1, refusal_, 3);
  EXPECT_NE(Allocate(60 * kChunk), nullptr);
}

}  // namespace
}  // namespace rekindle
