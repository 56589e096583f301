// SPDX-License-Identifier: Apache-2.0
#include "rekindle/base/environment.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rekindle {
namespace {

TEST(EnvironmentTest, VariableThatIsNotSetHasNoValue) {
  unsetenv("REKINDLE_TEST_A");
  EXPECT_EQ(GetEnvironment("REKINDLE_TEST_A"), std::nullopt);
}

TEST(EnvironmentTest, EmptyValueIsAValue) {
  setenv("REKINDLE_TEST_A", "", 1);
  EXPECT_EQ(GetEnvironment("REKINDLE_TEST_A"), "");
  unsetenv("REKINDLE_TEST_A");
}

TEST(EnvironmentTest, ListsNamesWithThePrefixInOrder) {
  setenv("REKINDLE_TEST_B", "x=y", 1);
  setenv("REKINDLE_TEST_A", "1", 1);
  EXPECT_THAT(EnvironmentNames("REKINDLE_TEST_"),
              ::testing::ElementsAre("REKINDLE_TEST_A", "REKINDLE_TEST_B"));
  unsetenv("REKINDLE_TEST_A");
  unsetenv("REKINDLE_TEST_B");
}

}  // namespace
}  // namespace rekindle
