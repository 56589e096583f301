// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/matmul.h"

#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

using testing::HasSubstr;

// a [m, k] times b [k, n], or [n, k] if transposed.
Doubles Product(const Doubles& a, const Doubles& b, size_t m, size_t n,
                size_t k, bool transposed) {
  Doubles c(m * n, 0.0);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      for (size_t l = 0; l < k; ++l) {
        c[i * n + j] += a[i * k + l] * b[transposed ? j * k + l : l * n + j];
      }
    }
  }
  return c;
}

class MatMulTest : public OpsTest {};

TEST_F(MatMulTest, MatchesTheNaiveProductAndItsGradients) {
  CheckOperator(
      {{{2, 3, 5}, reference::Random(30, 1)},
       {{5, 4}, reference::Random(20, 2)}},
      [](const std::vector<Var>& v) { return MatMul(v[0], v[1]); },
      [](const std::vector<Doubles>& v) {
        return Product(v[0], v[1], 6, 4, 5, false);
      });
}

TEST_F(MatMulTest, TransposedMatchesTheNaiveProductAndItsGradients) {
  CheckOperator(
      {{{6, 5}, reference::Random(30, 1)}, {{4, 5}, reference::Random(20, 2)}},
      [](const std::vector<Var>& v) { return MatMulTransposed(v[0], v[1]); },
      [](const std::vector<Doubles>& v) {
        return Product(v[0], v[1], 6, 4, 5, true);
      });
}

TEST_F(MatMulTest, LinearAddsTheBias) {
  CheckOperator(
      {{{2, 3, 5}, reference::Random(30, 1)},
       {{5, 4}, reference::Random(20, 2)},
       {{4}, reference::Random(4, 3)}},
      [](const std::vector<Var>& v) { return Linear(v[0], v[1], v[2]); },
      [](const std::vector<Doubles>& v) {
        Doubles y = Product(v[0], v[1], 6, 4, 5, false);
        for (size_t i = 0; i < y.size(); ++i) y[i] += v[2][i % 4];
        return y;
      });
}

TEST_F(MatMulTest, KeepsTheLeadingDimensions) {
  const Var y = MatMul(Plain(Random({2, 3, 5}, 1)), Plain(Random({5, 4}, 2)));
  EXPECT_EQ(y.spec(), F32({2, 3, 4}));
}

TEST_F(MatMulTest, NamesBothShapesOfAnError) {
  const Var y = MatMul(Plain(Random({2, 3}, 1)), Plain(Random({4, 5}, 2)));
  EXPECT_EQ(y.status(),
            absl::InvalidArgumentError("matmul: inner dimensions differ: "
                                       "a f32 [2, 3], b f32 [4, 5]"));
}

TEST_F(MatMulTest, RefusesOtherTypesAndRanks) {
  const Var x = Plain(Random({2, 3}, 1));
  const Var tokens = Plain(Make({2, 3}, std::vector<int32_t>(6, 0)));
  EXPECT_THAT(MatMul(x, tokens).status().ToString(), HasSubstr("f32"));
  EXPECT_THAT(MatMul(x, Plain(Random({3}, 1))).status().ToString(),
              HasSubstr("b must be a matrix"));
  EXPECT_THAT(MatMul(Plain(Random({}, 1)), x).status().ToString(),
              HasSubstr("matrix"));
  EXPECT_THAT(
      Linear(x, Plain(Random({3, 4}, 1)), Plain(Random({3}, 1)))
          .status()
          .ToString(),
      HasSubstr("w and bias differ in n: x f32 [2, 3], w f32 [3, 4], bias"));
}

TEST_F(MatMulTest, ComputesNoGradientThatNobodyWants) {
  Tape tape(context_);
  const Var w = tape.Watch(Random({3, 4}, 1));
  const Var y = MatMul(tape.Input(Random({2, 3}, 2)), w);
  const Var loss = WeightedSum(y, Floats(8, 1.0f));
  const int64_t before = runtime_->Stats().engine.calls;
  ASSERT_EQ(tape.Backward(loss), absl::OkStatus());
  // The seed, the gradient of y, and that of w; none of the input.
  EXPECT_EQ(runtime_->Stats().engine.calls - before, 3);
}

}  // namespace
}  // namespace rekindle::ops
