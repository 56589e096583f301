// SPDX-License-Identifier: Apache-2.0
// Random programs against a model that keeps every value in host memory.
#include <cstdio>
#include <string>
#include <tuple>

#include "gtest/gtest.h"
#include "tests/programs/campaign.h"

namespace rekindle::programs {
namespace {

using Kind = std::tuple<Level, DeviceKind>;

class RandomProgramsTest : public ::testing::TestWithParam<Kind> {};

TEST_P(RandomProgramsTest, HaveTheBitsOfTheModelUnderAnyBudget) {
  const auto [level, device] = GetParam();
  const Report report = RunCampaign(level, device, REKINDLE_RANDOM_PROGRAMS);
  ASSERT_EQ(report.failure, "") << report.failure;
  const Histogram& histogram = report.histogram;
  std::printf("%s\n", ToString(histogram).c_str());
  EXPECT_EQ(histogram.programs, REKINDLE_RANDOM_PROGRAMS);
  EXPECT_GE(histogram.recomputed * 2, histogram.programs);
  EXPECT_GE(histogram.deep * 10, histogram.programs);
  EXPECT_GE(histogram.rescued * 5, histogram.programs);
  EXPECT_GE(histogram.moved * 20, histogram.programs);
  EXPECT_GE(histogram.did_not_fit * 10, histogram.programs);
}

std::string NameOf(const ::testing::TestParamInfo<Kind>& kind) {
  const auto [level, device] = kind.param;
  const std::string name = level == Level::kEngine ? "Engine" : "Runtime";
  return name + (device == DeviceKind::kHost ? "OnTheHost" : "WithQueuedWork");
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RandomProgramsTest,
    ::testing::Combine(::testing::Values(Level::kEngine, Level::kRuntime),
                       ::testing::Values(DeviceKind::kHost,
                                         DeviceKind::kQueued)),
    NameOf);

}  // namespace
}  // namespace rekindle::programs
