// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/cross_entropy.h"

#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

using testing::HasSubstr;

class CrossEntropyTest : public OpsTest {};

TEST_F(CrossEntropyTest, MatchesItsNaiveFormAndGradient) {
  const std::vector<int32_t> targets = {0, 4, 2, 2, 1, 3};
  const Var t = Plain(Make({2, 3}, targets));
  CheckOperator(
      {{{2, 3, 5}, reference::Random(30, 1, 2.0f)}},
      [&](const std::vector<Var>& v) { return SoftmaxCrossEntropy(v[0], t); },
      [&](const std::vector<Doubles>& v) {
        return Doubles{reference::CrossEntropy(v[0], targets, 5)};
      });
}

TEST_F(CrossEntropyTest, RefusesATargetOutsideTheClasses) {
  const Var targets = Plain(Make({2}, std::vector<int32_t>{0, -1}));
  const Var loss = SoftmaxCrossEntropy(Plain(Random({2, 5}, 1)), targets);
  EXPECT_EQ(loss.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(loss.status().ToString(), HasSubstr("-1"));
}

TEST_F(CrossEntropyTest, ShapeErrorsNameTheShapes) {
  const Var targets = Plain(Make({3}, std::vector<int32_t>(3, 0)));
  EXPECT_EQ(SoftmaxCrossEntropy(Plain(Random({2, 5}, 1)), targets).status(),
            absl::InvalidArgumentError(
                "cross_entropy: one target for each row expected: logits f32 "
                "[2, 5], targets i32 [3]"));
}

}  // namespace
}  // namespace rekindle::ops
