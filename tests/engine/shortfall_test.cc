// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/shortfall.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kHundredth = kGiB / 100;

Shortfall Example() {
  Shortfall shortfall;
  shortfall.label = {"block7/softmax", "train.cc", 212};
  shortfall.input_bytes = 75 * kHundredth;
  shortfall.output_bytes = 75 * kHundredth;
  shortfall.budget = 8 * kGiB;
  shortfall.constant_bytes[static_cast<size_t>(Kind::kOptimizer)] = 3 * kGiB;
  shortfall.constant_bytes[static_cast<size_t>(Kind::kParameter)] =
      320 * kHundredth;
  shortfall.pinned_bytes = 60 * kHundredth;
  shortfall.pinned_by = {"read of logits", "eval.cc", 31};
  shortfall.needed_budget = 830 * kHundredth;
  return shortfall;
}

TEST(ShortfallTest, SaysWhatWhereHowMuchAndWhatWouldDo) {
  EXPECT_EQ(
      ToString(Example()),
      "\"block7/softmax\" (train.cc:212) needs 1.50 GiB at once (inputs 0.75, "
      "outputs 0.75, workspace 0); budget 8.00 GiB: constants 6.20 (optimizer "
      "3.00, parameters 3.20), pinned 0.60 (eval.cc:31), short by 0.30. This "
      "call needs at least 8.30 GiB to be sure to run.");
}

TEST(ShortfallTest, SmallSizesHaveSmallUnits) {
  Shortfall shortfall;
  shortfall.label = {"f", "", 0};
  shortfall.output_bytes = 512;
  shortfall.budget = 8 * kKiB;
  shortfall.constant_bytes[0] = 8 * kKiB;
  shortfall.needed_budget = 9 * kKiB;
  EXPECT_EQ(ToString(shortfall),
            "\"f\" needs 512 B at once (inputs 0, outputs 512, workspace 0); "
            "budget 8.00 KiB: constants 8.00 (activations 8.00), pinned 0, "
            "rounding 0.50, short by 1.00. This call needs at least 9.00 KiB "
            "to be sure to run.");
}

TEST(ShortfallTest, SizesThatWouldRoundToZeroKeepTheirOwnUnit) {
  Shortfall shortfall = Example();
  shortfall.workspace_bytes = 256;
  EXPECT_THAT(ToString(shortfall), HasSubstr("workspace 256 B)"));
}

TEST(ShortfallTest, BudgetAskedForIsNeverRoundedDown) {
  Shortfall shortfall = Example();
  shortfall.needed_budget = 8 * kGiB + 1;
  EXPECT_THAT(ToString(shortfall), HasSubstr("needs at least 8.01 GiB to"));
  EXPECT_THAT(ToString(shortfall), HasSubstr("short by 0.01."));
}

TEST(ShortfallTest, WhatChunksTakeBeyondTheirValuesIsSaid) {
  Shortfall shortfall = Example();
  shortfall.needed_budget += kGiB / 4;
  EXPECT_THAT(ToString(shortfall), HasSubstr(", rounding 0.25, short by"));
}

TEST(ShortfallTest, InputsThatAreHeldAnywayAreToldApart) {
  Shortfall shortfall = Example();
  shortfall.held_input_bytes = 50 * kHundredth;
  EXPECT_THAT(ToString(shortfall),
              AllOf(HasSubstr("(inputs 0.75 of which held 0.50, outputs"),
                    HasSubstr(", rounding 0.50, short by")));
  shortfall.held_input_bytes = shortfall.input_bytes;
  EXPECT_THAT(ToString(shortfall), HasSubstr("(inputs 0.75 held, outputs"));
}

TEST(ShortfallTest, NobodyIsNamedWhereNothingIsPinned) {
  Shortfall shortfall = Example();
  shortfall.pinned_bytes = 0;
  EXPECT_THAT(ToString(shortfall), HasSubstr("pinned 0"));
  EXPECT_THAT(ToString(shortfall), Not(HasSubstr("eval.cc")));
}

}  // namespace
}  // namespace rekindle
