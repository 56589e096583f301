// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/attention.h"

#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

class AttentionTest : public OpsTest {};

TEST_F(AttentionTest, MatchesItsNaiveFormAndGradient) {
  CheckOperator(
      {{{2, 5, 3 * 6}, reference::Random(180, 1)}},
      [](const std::vector<Var>& v) { return CausalAttention(v[0], 2); },
      [](const std::vector<Doubles>& v) {
        return reference::Attention(v[0], 2, 5, 2, 3, nullptr);
      });
}

TEST_F(AttentionTest, ProbabilitiesAreGivenUpWhenNobodyWantsAGradient) {
  const Tensor qkv = Random({2, 32, 3 * 16}, 1);
  const size_t before = runtime_->Stats().engine.live_bytes;
  const Var y = CausalAttention(Plain(qkv), 4);
  EXPECT_EQ(runtime_->Stats().engine.live_bytes - before, y.value().bytes());
}

TEST_F(AttentionTest, ShapeErrorsNameTheShape) {
  EXPECT_EQ(CausalAttention(Plain(Random({2, 5, 18}, 1)), 4).status(),
            absl::InvalidArgumentError(
                "attention: the last dimension must be a multiple of 3 x "
                "heads: qkv f32 [2, 5, 18]"));
  EXPECT_FALSE(CausalAttention(Plain(Random({5, 18}, 1)), 2).status().ok());
  EXPECT_FALSE(CausalAttention(Plain(Random({2, 5, 18}, 1)), 0).status().ok());
}

}  // namespace
}  // namespace rekindle::ops
