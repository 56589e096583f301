// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rekindle/base/units.h"
#include "rekindle/runtime/options.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

constexpr MemoryInfo kMemory = {.total = 1000, .free = 600};

size_t Resolved(const char* text) {
  return Budget::Parse(text).value().Resolve(kMemory).value();
}

TEST(BudgetTest, ReadsSizesWithUnits) {
  EXPECT_EQ(Resolved("8GiB"), 8 * kGiB);
  EXPECT_EQ(Resolved("512MiB"), 512 * kMiB);
  EXPECT_EQ(Resolved("8GB"), 8000000000u);
  EXPECT_EQ(Resolved(" 1.5 KiB "), 1536u);
}

TEST(BudgetTest, ReadsSharesOfTheTotal) {
  EXPECT_EQ(Resolved("60%"), 600u);
  EXPECT_EQ(Resolved("100%"), 1000u);
  EXPECT_EQ(Resolved("0.5%"), 5u);
  EXPECT_EQ(Resolved("12.5 %"), 125u);
}

TEST(BudgetTest, AutoLeavesATwentiethOfTheTotal) {
  EXPECT_EQ(Resolved("auto"), 550u);
}

TEST(BudgetTest, AutoTakesHalfOfWhatIsFreeWhereThatIsLess) {
  const MemoryInfo full = {.total = 1000, .free = 60};
  EXPECT_EQ(Budget::Auto().Resolve(full).value(), 30u);
}

TEST(BudgetTest, UnlimitedIsTheWholeDevice) {
  EXPECT_EQ(Resolved("unlimited"), 1000u);
}

class BadBudgetTest : public ::testing::TestWithParam<const char*> {};

TEST_P(BadBudgetTest, IsRefusedWithWhatIsAccepted) {
  const absl::StatusOr<Budget> budget = Budget::Parse(GetParam());
  EXPECT_THAT(budget, IsInvalidArgument());
  EXPECT_THAT(
      std::string(budget.status().message()),
      AllOf(HasSubstr(absl::StrCat("\"", GetParam(), "\"")), HasSubstr("8GiB"),
            HasSubstr("60%"), HasSubstr("auto"), HasSubstr("unlimited")));
}

INSTANTIATE_TEST_SUITE_P(All, BadBudgetTest,
                         ::testing::Values("", " ", "12", "0", "-3GiB", "8GiBB",
                                           "8gib", "GiB", "0GiB", "0%", "120%",
                                           "nan%", "inf%", "%", "-5%", "1e1%",
                                           "0x10%", "1.2.3GiB",
                                           "99999999999TiB", "Auto", "none",
                                           "8GiB,", "60%%"));

}  // namespace
}  // namespace rekindle
