// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/elementwise.h"

#include "rekindle/ops/bias.h"
#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

class ElementwiseTest : public OpsTest {};

TEST_F(ElementwiseTest, AddMatchesItsNaiveForm) {
  CheckOperator(
      {{{3, 4}, reference::Random(12, 1)}, {{3, 4}, reference::Random(12, 2)}},
      [](const std::vector<Var>& v) { return v[0] + v[1]; },
      [](const std::vector<Doubles>& v) {
        Doubles y = v[0];
        for (size_t i = 0; i < y.size(); ++i) y[i] += v[1][i];
        return y;
      });
}

TEST_F(ElementwiseTest, ScaleMatchesItsNaiveForm) {
  CheckOperator(
      {{{3, 4}, reference::Random(12, 1)}},
      [](const std::vector<Var>& v) { return Scale(v[0], -2.5f); },
      [](const std::vector<Doubles>& v) {
        Doubles y = v[0];
        for (double& value : y) value *= -2.5;
        return y;
      });
}

TEST_F(ElementwiseTest, AddBiasMatchesItsNaiveForm) {
  CheckOperator(
      {{{2, 3, 4}, reference::Random(24, 1)}, {{4}, reference::Random(4, 2)}},
      [](const std::vector<Var>& v) { return AddBias(v[0], v[1]); },
      [](const std::vector<Doubles>& v) {
        Doubles y = v[0];
        for (size_t i = 0; i < y.size(); ++i) y[i] += v[1][i % 4];
        return y;
      });
}

TEST_F(ElementwiseTest, ReshapeMovesNothing) {
  const int64_t before = runtime_->Stats().engine.calls;
  CheckOperator(
      {{{2, 6}, reference::Random(12, 1)}},
      [](const std::vector<Var>& v) {
        return Reshape(v[0], {3, 4});
      },
      [](const std::vector<Doubles>& v) { return v[0]; });
  // Those of the loss: one forward, the seed, and one gradient.
  EXPECT_EQ(runtime_->Stats().engine.calls - before, 3);
}

TEST_F(ElementwiseTest, ShapeErrorsNameTheShapes) {
  const Var x = Plain(Random({2, 3}, 1));
  const Var y = Plain(Random({3, 2}, 2));
  EXPECT_EQ((x + y).status(),
            absl::InvalidArgumentError(
                "add: shapes differ: a f32 [2, 3], b f32 [3, 2]"));
  EXPECT_EQ(AddBias(x, Plain(Random({2}, 1))).status(),
            absl::InvalidArgumentError("add_bias: last dimensions differ: x "
                                       "f32 [2, 3], bias f32 [2]"));
  EXPECT_EQ(Reshape(x, {4, 2}).status(),
            absl::InvalidArgumentError("reshape: as many elements expected as "
                                       "in f32 [4, 2]: x f32 [2, 3]"));
}

}  // namespace
}  // namespace rekindle::ops
