// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/nn/adamw.h"

#include "rekindle/ops/gelu.h"
#include "tests/ops/ops_test_base.h"

namespace rekindle::nn {
namespace {

using ops::OpsTest;
using ops::Parameter;
using ops::Tape;
using ops::Var;
using ops::reference::Floats;
using testing::HasSubstr;

class AdamWOptimizerTest : public OpsTest {
 protected:
  // The gradient of each element of `p` is 1.
  absl::Status Backward(Tape& tape, const Parameter& p) {
    const Var x = tape.Watch(p);
    return tape.Backward(
        WeightedSum(x, Floats(static_cast<size_t>(x.spec().elements()), 1.0f)));
  }
};

TEST_F(AdamWOptimizerTest, DecaysOnlyWhatIsMarked) {
  Parameter matrix{"matrix", Make({2, 2}, Floats(4, 1.0f)), true};
  Parameter vector{"vector", Make({2}, Floats(2, 1.0f)), false};
  AdamW optimizer(context_, {&matrix, &vector},
                  {.learning_rate = 0.1f, .weight_decay = 0.5f});
  for (Parameter* p : {&matrix, &vector}) {
    Tape tape(context_);
    ASSERT_EQ(Backward(tape, *p), absl::OkStatus());
    ASSERT_EQ(optimizer.Step(tape), absl::OkStatus());
  }
  EXPECT_EQ(optimizer.steps(), 2);
  // The first is at its first step, the second at its second with m and v of
  // its first: the update is known only for the first.
  EXPECT_NEAR(Values(matrix.value)[0], 1.0 - 0.1 - 0.1 * 0.5, 1e-5);
  EXPECT_GT(Values(vector.value)[0], 1.0 - 0.1 - 0.04);
  EXPECT_LT(Values(vector.value)[0], 1.0);
}

TEST_F(AdamWOptimizerTest, LeavesAloneWhatHasNoGradient) {
  Parameter used{"used", Make({2}, Floats(2, 1.0f)), false};
  Parameter unused{"unused", Make({2}, Floats(2, 1.0f)), true};
  AdamW optimizer(context_, {&used, &unused}, {});
  Tape tape(context_);
  ASSERT_EQ(Backward(tape, used), absl::OkStatus());
  ASSERT_EQ(optimizer.Step(tape), absl::OkStatus());
  EXPECT_NE(Values(used.value), Floats(2, 1.0f));
  EXPECT_EQ(Values(unused.value), Floats(2, 1.0f));
}

TEST_F(AdamWOptimizerTest, WantsBackwardFirst) {
  Parameter p{"p", Make({2}, Floats(2, 1.0f)), false};
  AdamW optimizer(context_, {&p}, {});
  Tape tape(context_);
  EXPECT_THAT(optimizer.Step(tape).ToString(),
              HasSubstr("call Backward() first"));
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST_F(AdamWOptimizerTest, GradientsGoWithTheUpdate) {
  Parameter p{"p", Make({1024}, Floats(1024, 1.0f)), false};
  AdamW optimizer(context_, {&p}, {});
  const size_t before = runtime_->Stats().engine.live_bytes;
  Tape tape(context_);
  ASSERT_EQ(Backward(tape, p), absl::OkStatus());
  ASSERT_EQ(optimizer.Step(tape), absl::OkStatus());
  EXPECT_LT(runtime_->Stats().engine.live_bytes, before + 1024);
}

}  // namespace
}  // namespace rekindle::nn
