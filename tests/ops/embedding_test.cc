// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/embedding.h"

#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

using testing::HasSubstr;

class EmbeddingTest : public OpsTest {};

TEST_F(EmbeddingTest, MatchesItsNaiveFormAndGradients) {
  const std::vector<int32_t> tokens = {0, 2, 2, 4, 4, 4, 1, 0};
  const Var t = Plain(Make({2, 4}, tokens));
  CheckOperator(
      {{{5, 3}, reference::Random(15, 1)}, {{6, 3}, reference::Random(18, 2)}},
      [&](const std::vector<Var>& v) { return Embedding(t, v[0], v[1]); },
      [&](const std::vector<Doubles>& v) {
        Doubles y;
        for (size_t i = 0; i < tokens.size(); ++i) {
          for (size_t c = 0; c < 3; ++c) {
            y.push_back(v[0][static_cast<size_t>(tokens[i]) * 3 + c] +
                        v[1][i % 4 * 3 + c]);
          }
        }
        return y;
      });
}

TEST_F(EmbeddingTest, RefusesATokenOutsideTheVocabulary) {
  const Var tokens = Plain(Make({1, 2}, std::vector<int32_t>{1, 7}));
  const Var y =
      Embedding(tokens, Plain(Random({5, 3}, 1)), Plain(Random({6, 3}, 2)));
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(y.status().ToString(), HasSubstr("7"));
}

TEST_F(EmbeddingTest, ShapeErrorsNameTheShapes) {
  const Var tokens = Plain(Make({1, 3}, std::vector<int32_t>(3, 0)));
  const Var table = Plain(Random({5, 3}, 1));
  const Var short_table = Plain(Random({2, 3}, 1));
  EXPECT_EQ(Embedding(tokens, table, short_table).status(),
            absl::InvalidArgumentError(
                "embedding: more tokens than positions: tokens i32 [1, 3], "
                "token_table f32 [5, 3], position_table f32 [2, 3]"));
  EXPECT_FALSE(Embedding(table, table, table).status().ok());
  EXPECT_FALSE(
      Embedding(tokens, table, Plain(Random({5, 4}, 1))).status().ok());
}

}  // namespace
}  // namespace rekindle::ops
