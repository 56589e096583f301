// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/gelu.h"

#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

class GeluTest : public OpsTest {};

TEST_F(GeluTest, MatchesItsNaiveFormAndGradient) {
  CheckOperator(
      {{{5, 8}, reference::Random(40, 1, 2.0f)}},
      [](const std::vector<Var>& v) { return Gelu(v[0]); },
      [](const std::vector<Doubles>& v) {
        Doubles y = v[0];
        for (double& value : y) value = reference::Gelu(value);
        return y;
      });
}

TEST_F(GeluTest, RefusesIntegers) {
  const Var x = Plain(Make({2}, std::vector<int32_t>{1, 2}));
  EXPECT_EQ(Gelu(x).status(),
            absl::InvalidArgumentError("gelu: x must be f32: x i32 [2]"));
}

}  // namespace
}  // namespace rekindle::ops
