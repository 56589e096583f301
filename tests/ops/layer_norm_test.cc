// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/layer_norm.h"

#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

class LayerNormTest : public OpsTest {};

TEST_F(LayerNormTest, MatchesItsNaiveFormAndGradients) {
  CheckOperator(
      {{{2, 3, 8}, reference::Random(48, 1, 2.0f)},
       {{8}, reference::Random(8, 2)},
       {{8}, reference::Random(8, 3)}},
      [](const std::vector<Var>& v) { return LayerNorm(v[0], v[1], v[2]); },
      [](const std::vector<Doubles>& v) {
        return reference::LayerNorm(v[0], v[1], v[2], 1e-5);
      });
}

TEST_F(LayerNormTest, ShapeErrorsNameTheShapes) {
  const Var x = Plain(Random({2, 3}, 1));
  const Var gamma = Plain(Random({2}, 1));
  EXPECT_EQ(LayerNorm(x, gamma, gamma).status(),
            absl::InvalidArgumentError(
                "layer_norm: last dimensions differ: x f32 [2, 3], gamma f32 "
                "[2], beta f32 [2]"));
  EXPECT_FALSE(LayerNorm(x, x, x).status().ok());
}

}  // namespace
}  // namespace rekindle::ops
