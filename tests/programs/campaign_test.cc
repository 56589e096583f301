// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/campaign.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/programs/make_program.h"

namespace rekindle::programs {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A random program with a constant in the middle that no device holds.
Program Impossible() {
  Program program = MakeProgram(7, Level::kEngine, DeviceKind::kHost);
  Operation constant;
  constant.action = Action::kConstant;
  constant.outputs = {10'000'000};
  program.operations.insert(program.operations.begin() + 30, constant);
  return program;
}

TEST(CampaignTest, FailureIsExplainedByASmallProgram) {
  const std::string text = Explain(Impossible(), {});
  EXPECT_THAT(text, AllOf(StartsWith("seed 7: operation 30 (constant "),
                          HasSubstr("RESOURCE_EXHAUSTED")));
  EXPECT_THAT(text, HasSubstr("the smallest program that fails:\n"
                              "program seed=7\n"
                              "constant out=10000000\n"
                              "operation 0 (constant out=10000000): "));
}

TEST(CampaignTest, OnlyFailuresLikeTheFirstCount) {
  EXPECT_THAT(Explain(Impossible(), {}, "wrong bits"),
              StartsWith("seed 7 failed among others"));
}

TEST(CampaignTest, ProgramCanBePasted) {
  EXPECT_EQ(FailureOf(R"(program seed=47 device=1 budget=57344 streams=3
call out=1 salt=122644054
guard salt=1187390619 stream=1
call on=0 salt=3707145819 mutates=1
endguard salt=2712264238
constant out=1 salt=2640931106)"),
            "");
}

TEST(CampaignTest, TextThatIsNoProgramIsAFailure) {
  EXPECT_THAT(FailureOf("constant out=1"), EndsWith("no line \"program ...\""));
}

TEST(CampaignTest, CountsOnlyLimitedRuns) {
  const Report report = RunCampaign(Level::kRuntime, DeviceKind::kHost, 20);
  EXPECT_EQ(report.failure, "");
  EXPECT_EQ(report.histogram.programs, 20);
  EXPECT_GT(report.histogram.recomputed, 0);
  EXPECT_THAT(ToString(report.histogram), StartsWith("20 programs: "));
}

}  // namespace
}  // namespace rekindle::programs
