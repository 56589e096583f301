// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/dropout.h"

#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

class DropoutTest : public OpsTest {};

TEST_F(DropoutTest, DropsAboutTheRateAndScalesTheRest) {
  Generator generator(1);
  const Var x = Plain(Make({100, 100}, Floats(10000, 3.0f)));
  int dropped = 0;
  for (float value : Values(Dropout(x, 0.25f, &generator).value())) {
    EXPECT_TRUE(value == 0.0f || value == 4.0f) << value;
    dropped += value == 0.0f ? 1 : 0;
  }
  EXPECT_NEAR(dropped, 2500, 200);
}

TEST_F(DropoutTest, GradientHasTheSameMask) {
  Generator generator(1);
  Tape tape(context_);
  const Var x = tape.Watch(Make({1000}, Floats(1000, 1.0f)));
  const Var y = Dropout(x, 0.5f, &generator);
  ASSERT_EQ(tape.Backward(WeightedSum(y, Floats(1000, 1.0f))),
            absl::OkStatus());
  EXPECT_EQ(Values(*tape.Gradient(x)), Values(y.value()));
}

TEST_F(DropoutTest, RecomputationHasTheSameMask) {
  Generator generator(1);
  Tensor y = Dropout(Plain(Random({1000}, 1)), 0.5f, &generator).value();
  const Floats before = Values(y);
  ASSERT_TRUE(y.Evict());
  ASSERT_FALSE(y.resident());
  EXPECT_TRUE(reference::SameBits(Values(y), before));
}

TEST_F(DropoutTest, EachCallDrawsAnew) {
  Generator generator(1);
  const Var x = Plain(Make({1000}, Floats(1000, 1.0f)));
  EXPECT_NE(Values(Dropout(x, 0.5f, &generator).value()),
            Values(Dropout(x, 0.5f, &generator).value()));
}

TEST_F(DropoutTest, IsTheIdentityWithoutAGeneratorOrARate) {
  Generator generator(1);
  const Var x = Plain(Random({10}, 1));
  const int64_t before = runtime_->Stats().engine.calls;
  EXPECT_EQ(Values(Dropout(x, 0.5f, nullptr).value()), Values(x.value()));
  EXPECT_EQ(Values(Dropout(x, 0.0f, &generator).value()), Values(x.value()));
  EXPECT_EQ(runtime_->Stats().engine.calls, before);
}

TEST_F(DropoutTest, RefusesARateOfOne) {
  EXPECT_EQ(Dropout(Plain(Random({10}, 1)), 1.0f, nullptr).status(),
            absl::InvalidArgumentError(
                "dropout: rate must be in [0, 1): x f32 [10]"));
}

}  // namespace
}  // namespace rekindle::ops
