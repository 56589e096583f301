// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/tape.h"

#include "rekindle/ops/gelu.h"
#include "rekindle/ops/named_scope.h"
#include "rekindle/ops/operator.h"
#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

using testing::HasSubstr;

class TapeTest : public OpsTest {
 protected:
  static constexpr int64_t kCount = 12;

  Var Loss(const Var& y) { return WeightedSum(y, weights_); }

  const Floats weights_ = reference::Random(kCount, 5);
};

TEST_F(TapeTest, SeveralUsesOfAVariableAddUp) {
  Tape tape(context_);
  const Var x = tape.Watch(Random({kCount}, 1));
  ASSERT_EQ(tape.Backward(Loss(x + x)), absl::OkStatus());
  Floats twice = weights_;
  for (float& value : twice) value *= 2;
  EXPECT_EQ(Values(*tape.Gradient(x)), twice);
}

TEST_F(TapeTest, ADiamondSumsBothPaths) {
  CheckOperator(
      {{{kCount}, reference::Random(kCount, 1)}},
      [](const std::vector<Var>& v) {
        const Var h = Scale(v[0], 2.0f);
        return Gelu(h) + Scale(h, 3.0f);
      },
      [](const std::vector<Doubles>& v) {
        Doubles y = v[0];
        for (double& value : y) {
          value = reference::Gelu(2 * value) + 6 * value;
        }
        return y;
      });
}

TEST_F(TapeTest, AParameterIsOneNodeHoweverOftenItIsUsed) {
  const Parameter w{"w", Random({kCount}, 1)};
  Tape tape(context_);
  const Var x = tape.Input(Random({kCount}, 2));
  ASSERT_EQ(tape.Backward(Loss(x.Use(w) + (x + x.Use(w)))), absl::OkStatus());
  Floats twice = weights_;
  for (float& value : twice) value *= 2;
  EXPECT_EQ(Values(*tape.Gradient(w)), twice);
}

TEST_F(TapeTest, UnusedParametersHaveNoGradient) {
  const Parameter used{"used", Random({kCount}, 1)};
  const Parameter watched{"watched", Random({kCount}, 2)};
  const Parameter unknown{"unknown", Random({kCount}, 3)};
  Tape tape(context_);
  const Var x = tape.Watch(used);
  Gelu(tape.Watch(watched));  // On the tape, but not before the loss.
  ASSERT_EQ(tape.Backward(Loss(x)), absl::OkStatus());
  EXPECT_TRUE(tape.Gradient(used).has_value());
  EXPECT_FALSE(tape.Gradient(watched).has_value());
  EXPECT_FALSE(tape.Gradient(unknown).has_value());
}

TEST_F(TapeTest, TakingAGradientLetsGoOfIt) {
  const Parameter w{"w", Random({kCount}, 1)};
  Tape tape(context_);
  ASSERT_EQ(tape.Backward(Loss(tape.Watch(w))), absl::OkStatus());
  EXPECT_TRUE(tape.TakeGradient(w).has_value());
  EXPECT_FALSE(tape.TakeGradient(w).has_value());
}

TEST_F(TapeTest, BackwardRunsOnce) {
  Tape tape(context_);
  const Var loss = Loss(tape.Watch(Random({kCount}, 1)));
  ASSERT_EQ(tape.Backward(loss), absl::OkStatus());
  const absl::Status again = tape.Backward(loss);
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(again.ToString(), HasSubstr("has run on this tape before"));
  EXPECT_TRUE(tape.has_gradients());
  EXPECT_THAT(Gelu(loss).status().ToString(),
              HasSubstr("gelu: Backward has run on this tape"));
}

TEST_F(TapeTest, ALossIsOneElementOnThisTape) {
  Tape tape(context_);
  Tape other(context_);
  const Var x = tape.Watch(Random({2, 3}, 1));
  EXPECT_EQ(tape.Backward(x),
            absl::InvalidArgumentError("Backward: the loss must be one f32 "
                                       "element, but is f32 [2, 3]"));
  EXPECT_THAT(tape.Backward(tape.Input(Random({}, 1))).ToString(),
              HasSubstr("depends on nothing"));
  EXPECT_THAT(tape.Backward(other.Watch(Random({}, 1))).ToString(),
              HasSubstr("depends on nothing"));
  EXPECT_THAT((other.Watch(Random({2, 3}, 1)) + x).status().ToString(),
              HasSubstr("add: arguments on different tapes"));
}

TEST_F(TapeTest, TheFirstErrorReachesBackward) {
  Tape tape(context_);
  const Var x = tape.Watch(Random({2, 3}, 1));
  const Var bad = Gelu(MatMul(x, x)) + x;
  EXPECT_THAT(bad.status().ToString(), HasSubstr("matmul: inner dimensions"));
  EXPECT_EQ(tape.Backward(bad), bad.status());
  EXPECT_EQ(bad.ToHost<float>().status(), bad.status());
}

TEST_F(TapeTest, AnErrorInAGradientStopsBackward) {
  Tape tape(context_);
  const Var x = tape.Watch(Random({kCount}, 1));
  Operator op("broken", {{"x", x}}, Site::Current());
  const Var y = op.Result(Gelu(x).value(), [](Gradients& g) {
    g.Add(0, g.Call("_dx", {}, {g.dy()}, {g.dy().spec()}, [](KernelArgs&) {
      return absl::InternalError("no gradient today");
    })[0]);
  });
  EXPECT_THAT(tape.Backward(Loss(y)).ToString(),
              HasSubstr("no gradient today"));
  EXPECT_FALSE(tape.has_gradients());
  EXPECT_FALSE(tape.Gradient(x).has_value());
  EXPECT_EQ(tape.recorded_operators(), 0u);
}

TEST_F(TapeTest, NothingIsRecordedWithoutSomethingWatched) {
  Tape tape(context_);
  const Var x = tape.Input(Random({kCount}, 1));
  const Var y = Gelu(x) + x;
  EXPECT_FALSE(y.recorded());
  EXPECT_EQ(tape.recorded_operators(), 0u);
  EXPECT_FALSE(Gelu(Plain(Random({kCount}, 1))).recorded());
}

TEST_F(TapeTest, SavedTensorsGoAsSoonAsTheirOperatorHasRun) {
  constexpr int64_t kBig = 4096;
  constexpr size_t kBytes = kBig * sizeof(float);
  Tape tape(context_);
  const Tensor weights = Make({kBig, 1}, Floats(kBig, 1.0f));
  Var x = tape.Watch(Random({kBig}, 1));
  const size_t before = runtime_->Stats().engine.live_bytes;
  Var loss = [&] {
    Var h = x;
    for (int i = 0; i < 4; ++i) h = Gelu(h);
    return MatMul(Reshape(h, {1, kBig}), Plain(weights));
  }();
  // Four results: three saved by Gelu, the last by MatMul.
  EXPECT_GE(runtime_->Stats().engine.live_bytes - before, 4 * kBytes);
  ASSERT_EQ(tape.Backward(loss), absl::OkStatus());
  // The gradient of x, and a little.
  EXPECT_LT(runtime_->Stats().engine.live_bytes - before, 2 * kBytes);
}

TEST_F(TapeTest, UpdatesInPlaceDoNotReachWhatWasSaved) {
  const auto gradient = [this](bool update) {
    Tape tape(context_);
    Tensor x = Random({kCount}, 1);
    const Var watched = tape.Watch(x);
    const Var loss = Loss(Gelu(watched));
    if (update) {
      runtime_->Call({.name = "zero", .mutates = {0}}, {x}, {},
                     [](KernelArgs& a) {
                       for (int i = 0; i < kCount; ++i) {
                         a.inout<float>(0)[i] = 0.0f;
                       }
                       return absl::OkStatus();
                     });
      EXPECT_EQ(Values(x), Floats(kCount, 0.0f));
    }
    EXPECT_EQ(tape.Backward(loss), absl::OkStatus());
    return Values(*tape.Gradient(watched));
  };
  EXPECT_EQ(gradient(false), gradient(true));
}

TEST_F(TapeTest, GradientsCarryTheScopeOfTheirOperator) {
  Tape tape(context_);
  const Var x = tape.Watch(Random({kCount}, 1));
  const Var y = [&] {
    NamedScope outer(x, "block3");
    NamedScope inner(x, "mlp");
    Operator op("broken", {{"x", x}}, Site::Current());
    return op.Result(x.value(), [](Gradients& g) {
      g.Add(0, g.Call("_dx", {}, {}, {g.dy().spec()}, [](KernelArgs&) {
        return absl::InternalError("no");
      })[0]);
    });
  }();
  EXPECT_THAT(tape.Backward(Loss(y)).ToString(),
              HasSubstr("block3/mlp/broken_dx"));
}

}  // namespace
}  // namespace rekindle::ops
