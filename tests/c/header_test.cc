// SPDX-License-Identifier: Apache-2.0
#include "gtest/gtest.h"
#include "rekindle/c.h"
#include "tests/c/all_functions.h"

namespace rekindle {
namespace {

TEST(HeaderTest, EveryFunctionCanBeLinkedFromC) {
  EXPECT_EQ(function_count(), 45u);
}

TEST(HeaderTest, StructsHaveOneLayoutInCAndCpp) {
  EXPECT_EQ(sum_of_struct_sizes(),
            sizeof(rk_options) + sizeof(rk_stats) + sizeof(rk_call_options));
}

}  // namespace
}  // namespace rekindle
