// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/spec.h"

#include <limits>

#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(SpecTest, CountsElementsAndBytes) {
  EXPECT_EQ(F32({2, 3}).elements(), 6);
  EXPECT_EQ(F32({2, 3}).bytes(), 24u);
  EXPECT_EQ(I32({5}).bytes(), 20u);
  EXPECT_EQ(Spec::Bytes(7).bytes(), 7u);
}

TEST(SpecTest, ScalarHasOneElement) { EXPECT_EQ(F32({}).elements(), 1); }

TEST(SpecTest, ZeroDimensionMakesItEmptyHoweverLargeTheOthers) {
  EXPECT_EQ(F32({kHuge, kHuge, 0}).elements(), 0);
  EXPECT_THAT(F32({kHuge, kHuge, 0}).Validate(), IsOk());
}

TEST(SpecTest, NegativeDimensionIsInvalid) {
  EXPECT_THAT(F32({3, -1}).Validate(), IsInvalidArgument());
  EXPECT_THAT(F32({0, -1}).Validate(), IsInvalidArgument());
}

TEST(SpecTest, SizesThatOverflowAreInvalid) {
  EXPECT_THAT(F32({kHuge}).Validate(), IsInvalidArgument());
  EXPECT_THAT(F32({kHuge, kHuge}).Validate(), IsInvalidArgument());
  EXPECT_THAT(Spec::Bytes(std::numeric_limits<size_t>::max()).Validate(),
              IsInvalidArgument());
}

TEST(SpecTest, ShapesAndTypesAreCompared) {
  EXPECT_EQ(F32({2}), F32({2}));
  EXPECT_NE(F32({2}), I32({2}));
  EXPECT_NE(F32({2}), F32({1, 2}));
}

TEST(SpecTest, PrintsTypeAndShape) {
  EXPECT_EQ(ToString(F32({2, 3})), "f32 [2, 3]");
  EXPECT_EQ(ToString(I32({})), "i32 []");
  EXPECT_EQ(ToString(Spec::Bytes(8)), "bytes [8]");
}

}  // namespace
}  // namespace rekindle
