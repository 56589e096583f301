// SPDX-License-Identifier: Apache-2.0
// A device that has less than the budget: another process took memory.
#include <memory>
#include <optional>

#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "tests/base/status_matchers.h"
#include "tests/device/crowded_device.h"

namespace rekindle {
namespace {

constexpr size_t kChunk = 64 * kKiB;
constexpr int64_t kBetweenAsks = Arena::kRequestsBetweenAsks;

class EffectiveBudgetTest : public testing::Test {
 protected:
  ~EffectiveBudgetTest() override { allocator_->CheckInvariants(); }

  std::optional<Block> Allocate(size_t chunks) {
    return allocator_->Allocate(chunks * kChunk).value();
  }
  size_t effective() const {
    return allocator_->stats().effective_budget / kChunk;
  }
  int64_t falls() const { return allocator_->stats().budget_falls; }

  const std::unique_ptr<CountingDevice> inner_ =
      CountingDevice::Open({.capacity = 64 * kChunk, .granularity = kChunk})
          .value();
  CrowdedDevice device_{*inner_, 5 * kChunk};
  const std::unique_ptr<VmmAllocator> allocator_ =
      VmmAllocator::Create(device_, {.budget = 8 * kChunk}).value();
};

TEST_F(EffectiveBudgetTest, IsTheBudgetWhileNothingIsRefused) {
  ASSERT_TRUE(Allocate(5).has_value());
  EXPECT_EQ(effective(), 8u);
  EXPECT_EQ(falls(), 0);
}

TEST_F(EffectiveBudgetTest, FallsToWhatTheDeviceGave) {
  ASSERT_TRUE(Allocate(4).has_value());
  EXPECT_FALSE(Allocate(3).has_value());
  EXPECT_EQ(effective(), 5u);
  EXPECT_EQ(falls(), 1);
  EXPECT_EQ(device_.memory_info().created, 4 * kChunk);
  EXPECT_TRUE(Allocate(1).has_value()) << "what was given back is there";
  EXPECT_EQ(falls(), 1);
}

TEST_F(EffectiveBudgetTest, TheDeviceIsNotAskedEachTime) {
  ASSERT_TRUE(Allocate(5).has_value());
  for (int64_t i = 0; i < kBetweenAsks; ++i) Allocate(1);
  EXPECT_EQ(device_.refusals(), 1);
  Allocate(1);
  EXPECT_EQ(device_.refusals(), 2) << "now and then it is";
  EXPECT_EQ(falls(), 1) << "but has no less than before";
}

TEST_F(EffectiveBudgetTest, FreedMemoryServesLaterRequests) {
  const Block first = *Allocate(1);
  const Block second = *Allocate(1);
  ASSERT_TRUE(Allocate(1).has_value());
  const Block fourth = *Allocate(1);
  ASSERT_TRUE(Allocate(1).has_value());
  EXPECT_FALSE(Allocate(3).has_value());
  allocator_->Free(first);
  allocator_->Free(second);
  EXPECT_FALSE(Allocate(3).has_value());
  allocator_->Free(fourth);
  EXPECT_TRUE(Allocate(3).has_value()) << "chunks from three places";
  EXPECT_EQ(device_.refusals(), 1);
}

TEST_F(EffectiveBudgetTest, TheBudgetIsBackWhenTheDeviceGivesMore) {
  ASSERT_TRUE(Allocate(5).has_value());
  EXPECT_FALSE(Allocate(1).has_value());
  device_.SetRoom(64 * kChunk);
  int64_t requests = 1;
  while (!Allocate(1).has_value()) ++requests;
  EXPECT_EQ(requests, kBetweenAsks);
  EXPECT_EQ(effective(), 8u);
  EXPECT_TRUE(Allocate(2).has_value());
}

TEST_F(EffectiveBudgetTest, ItCanBeToldToAskAgain) {
  ASSERT_TRUE(Allocate(5).has_value());
  EXPECT_FALSE(Allocate(1).has_value());
  allocator_->AskAgain();
  EXPECT_FALSE(Allocate(1).has_value());
  EXPECT_EQ(device_.refusals(), 2);
  EXPECT_EQ(effective(), 5u);
  EXPECT_EQ(falls(), 1);
  device_.SetRoom(64 * kChunk);
  allocator_->AskAgain();
  EXPECT_TRUE(Allocate(1).has_value());
  EXPECT_EQ(effective(), 8u);
}

TEST_F(EffectiveBudgetTest, ANewBudgetAsksAtOnce) {
  ASSERT_TRUE(Allocate(5).has_value());
  EXPECT_FALSE(Allocate(1).has_value());
  device_.SetRoom(64 * kChunk);
  EXPECT_FALSE(Allocate(1).has_value());
  ASSERT_THAT(allocator_->SetBudget(8 * kChunk), IsOk());
  EXPECT_EQ(effective(), 8u);
  EXPECT_TRUE(Allocate(1).has_value());
}

TEST_F(EffectiveBudgetTest, MemoryThatSomebodyElseTookMeanwhileIsAFallToo) {
  const Block block = *Allocate(5);
  EXPECT_FALSE(Allocate(1).has_value());
  allocator_->Free(block);
  ASSERT_THAT(allocator_->Trim(), IsOk());
  device_.SetRoom(3 * kChunk);
  EXPECT_FALSE(Allocate(4).has_value());
  EXPECT_EQ(effective(), 3u);
  EXPECT_EQ(falls(), 2);
  EXPECT_TRUE(Allocate(3).has_value());
}

TEST_F(EffectiveBudgetTest, ALowerBudgetCounts) {
  ASSERT_TRUE(Allocate(2).has_value());
  EXPECT_FALSE(Allocate(6).has_value());
  ASSERT_THAT(allocator_->SetBudget(3 * kChunk), IsOk());
  EXPECT_EQ(effective(), 3u);
  EXPECT_FALSE(Allocate(2).has_value());
  EXPECT_EQ(device_.refusals(), 1);
}

}  // namespace
}  // namespace rekindle
