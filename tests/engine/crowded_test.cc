// SPDX-License-Identifier: Apache-2.0
// The device has less memory than the budget.
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/device/crowded_device.h"
#include "tests/engine/engine_fixture.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

class CrowdedTest : public EngineTest {
 protected:
  void OpenCrowded(size_t budget, size_t room) {
    Open(kUnlimited);
    engine_.reset();
    allocator_.reset();
    crowded_ = std::make_unique<CrowdedDevice>(*device_, room * kGranularity);
    VmmAllocatorOptions options;
    options.budget = budget * kGranularity;
    options.small_block_limit = 0;
    allocator_ = VmmAllocator::Create(*crowded_, options).value();
    engine_ = std::make_unique<Engine>(
        *crowded_, *allocator_, MakePolicy("dtr_eq:release=lazy").value());
  }
  ~CrowdedTest() override {
    engine_.reset();
    allocator_.reset();
  }

  std::unique_ptr<CrowdedDevice> crowded_;
};

TEST_F(CrowdedTest, AProgramGoesOnWithEvictionsAndTheSameBits) {
  OpenCrowded(32, 6);
  std::vector<StorageId> ids = {Constant(Ramp())};
  std::vector<Words> model = {Ramp()};
  for (uint32_t i = 0; i < 20; ++i) {
    ids.push_back(Next(ids.back(), kWords, i));
    model.push_back(MixAll({model.back()}, i, kWords));
    if (i == 10) crowded_->SetRoom(4 * kGranularity);
    engine_->CheckInvariants();
  }
  EXPECT_EQ(allocator_->stats().effective_budget, 6 * kGranularity);
  EXPECT_EQ(allocator_->stats().budget_falls, 1);
  EXPECT_LT(crowded_->refusals(), 4);
  EXPECT_GT(engine_->stats().evictions, 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(Read(ids[i], kWords), model[i]);
  }
}

TEST_F(CrowdedTest, AnErrorNamesBothBudgets) {
  OpenCrowded(32, 6);
  Constant(Ramp(4 * kWords));
  const auto id =
      engine_->AddConstant(4 * kGranularity, Kind::kInput, {"large"});
  ASSERT_FALSE(id.ok());
  EXPECT_THAT(std::string(id.status().message()),
              HasSubstr("budget 128.00 KiB (of which the device has only "
                        "24.00: another process may hold memory):"));
  const Shortfall shortfall = engine_->last_shortfall().value();
  EXPECT_EQ(shortfall.budget, 32 * kGranularity);
  EXPECT_EQ(shortfall.effective_budget, 6 * kGranularity);
  EXPECT_EQ(shortfall.short_by(),
            shortfall.needed_budget - shortfall.effective_budget);
  EXPECT_LE(shortfall.needed_budget, shortfall.budget);
  // Enough, once the device has that: it is asked again before an error.
  crowded_->SetRoom(shortfall.needed_budget);
  EXPECT_TRUE(
      engine_->AddConstant(4 * kGranularity, Kind::kInput, {"large"}).ok());
}

}  // namespace
}  // namespace rekindle
