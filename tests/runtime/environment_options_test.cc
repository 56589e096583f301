// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/environment_options.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rekindle/base/units.h"
#include "rekindle/runtime/options.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<RuntimeOptions> From(
    const std::map<std::string, std::string>& environment) {
  return RuntimeOptions::FromEnvironment(
      [&](const char* name) -> std::optional<std::string> {
        const auto it = environment.find(name);
        if (it == environment.end()) return std::nullopt;
        return it->second;
      });
}

TEST(FromEnvironmentTest, EmptyEnvironmentGivesTheDefaults) {
  const RuntimeOptions options = From({}).value();
  EXPECT_EQ(options.device, "auto");
  EXPECT_EQ(options.policy, RuntimeOptions().policy);
  EXPECT_FALSE(options.print_stats);
  EXPECT_EQ(options.log_level, 1);
}

TEST(FromEnvironmentTest, ReadsEveryVariable) {
  const RuntimeOptions options = From({{"REKINDLE_BUDGET", "8GiB"},
                                       {"REKINDLE_DEVICE", "host"},
                                       {"REKINDLE_POLICY", "lru:release=eager"},
                                       {"REKINDLE_STATS", "1"},
                                       {"REKINDLE_LOG", "info"}})
                                     .value();
  EXPECT_EQ(options.budget.Resolve({}).value(), 8 * kGiB);
  EXPECT_EQ(options.device, "host");
  EXPECT_EQ(options.policy, "lru:release=eager");
  EXPECT_TRUE(options.print_stats);
  EXPECT_EQ(options.log_level, 2);
}

struct Good {
  const char* variable;
  const char* value;
};

class GoodValueTest : public ::testing::TestWithParam<Good> {};

TEST_P(GoodValueTest, IsAccepted) {
  EXPECT_THAT(From({{GetParam().variable, GetParam().value}}), IsOk());
}

INSTANTIATE_TEST_SUITE_P(
    All, GoodValueTest,
    ::testing::Values(
        Good{"REKINDLE_BUDGET", "60%"}, Good{"REKINDLE_BUDGET", "unlimited"},
        Good{"REKINDLE_DEVICE", "auto"}, Good{"REKINDLE_DEVICE", "counting"},
        Good{"REKINDLE_DEVICE", "cuda:0"}, Good{"REKINDLE_DEVICE", "cuda:12"},
        Good{"REKINDLE_POLICY", "dtr_local"}, Good{"REKINDLE_STATS", "0"},
        Good{"REKINDLE_VERIFY", "1"}, Good{"REKINDLE_LOG", "quiet"},
        Good{"REKINDLE_LOG", "warn"}, Good{"REKINDLE_LOG", "0"},
        Good{"REKINDLE_LOG", "2"}));

struct Bad {
  const char* variable;
  const char* value;
  const char* accepted;  // part of the message
};

class BadValueTest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadValueTest, IsRefusedNamingVariableValueAndWhatIsAccepted) {
  const auto [variable, value, accepted] = GetParam();
  const absl::StatusOr<RuntimeOptions> options = From({{variable, value}});
  EXPECT_THAT(options, IsInvalidArgument());
  EXPECT_THAT(
      std::string(options.status().message()),
      AllOf(HasSubstr(variable), HasSubstr(absl::StrCat("\"", value, "\"")),
            HasSubstr(accepted)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadValueTest,
    ::testing::Values(
        Bad{"REKINDLE_BUDGET", "", "unlimited"},
        Bad{"REKINDLE_BUDGET", "12", "8GiB"},
        Bad{"REKINDLE_BUDGET", "-3GiB", "8GiB"},
        Bad{"REKINDLE_BUDGET", "8GiBB", "8GiB"},
        Bad{"REKINDLE_BUDGET", "0", "8GiB"},
        Bad{"REKINDLE_BUDGET", "120%", "100%"},
        Bad{"REKINDLE_BUDGET", "nan%", "60%"},
        Bad{"REKINDLE_DEVICE", "", "host"},
        Bad{"REKINDLE_DEVICE", "gpu", "cuda:0"},
        Bad{"REKINDLE_DEVICE", "cuda:", "cuda:0"},
        Bad{"REKINDLE_DEVICE", "cuda:x", "cuda:0"},
        Bad{"REKINDLE_DEVICE", "cuda:-1", "cuda:0"},
        Bad{"REKINDLE_POLICY", "", "dtr_eq"},
        Bad{"REKINDLE_POLICY", "best", "lru"},
        Bad{"REKINDLE_POLICY", "lru:release=never", "lazy"},
        Bad{"REKINDLE_VERIFY", "on", "1"}, Bad{"REKINDLE_STATS", "yes", "1"},
        Bad{"REKINDLE_STATS", "", "1"}, Bad{"REKINDLE_LOG", "debug", "info"},
        Bad{"REKINDLE_LOG", "3", "info"}, Bad{"REKINDLE_LOG", "", "quiet"}));

TEST(UnknownVariableTest, KnownNamesGiveNoWarning) {
  EXPECT_THAT(internal::UnknownVariableWarnings(
                  {"REKINDLE_BUDGET", "REKINDLE_DEVICE", "REKINDLE_POLICY",
                   "REKINDLE_STATS", "REKINDLE_LOG", "REKINDLE_VERIFY",
                   "REKINDLE_SETUP"}),
              IsEmpty());
}

TEST(UnknownVariableTest, WarningNamesTheNearest) {
  EXPECT_THAT(
      internal::UnknownVariableWarnings({"REKINDLE_BUGDET", "REKINDLE_STAT"}),
      ElementsAre(AllOf(HasSubstr("REKINDLE_BUGDET"),
                        HasSubstr("did you mean REKINDLE_BUDGET?")),
                  HasSubstr("did you mean REKINDLE_STATS?")));
}

TEST(UnknownVariableTest, WarningListsAllWhereNoneIsNear) {
  EXPECT_THAT(internal::UnknownVariableWarnings({"REKINDLE_UNRELATED"}),
              ElementsAre(AllOf(HasSubstr("REKINDLE_BUDGET"),
                                HasSubstr("REKINDLE_LOG"))));
}

}  // namespace
}  // namespace rekindle
