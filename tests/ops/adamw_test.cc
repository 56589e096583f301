// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/adamw.h"

#include <cmath>

#include "tests/ops/ops_test_base.h"

namespace rekindle::ops {
namespace {

constexpr int64_t kCount = 37;

class AdamWTest : public OpsTest {
 protected:
  AdamWTensors Fresh(const Floats& values) {
    return {Make({kCount}, values), runtime_->Constant(F32({kCount}), nullptr),
            runtime_->Constant(F32({kCount}), nullptr)};
  }
};

TEST_F(AdamWTest, FollowsTheAlgorithmInPlace) {
  const AdamWOptions options{.learning_rate = 0.1f, .weight_decay = 0.2f};
  const Floats start = reference::Random(kCount, 1);
  AdamWTensors state = Fresh(start);
  Doubles p = reference::Widen(start), m(kCount, 0.0), v(kCount, 0.0);
  for (int step = 1; step <= 4; ++step) {
    const Floats g =
        reference::Random(kCount, 10 + static_cast<uint32_t>(step));
    ASSERT_EQ(AdamWUpdate(context_, options, step, Make({kCount}, g), state),
              absl::OkStatus());
    for (size_t i = 0; i < kCount; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      const double mean = m[i] / (1 - std::pow(0.9, step));
      const double square = v[i] / (1 - std::pow(0.999, step));
      p[i] -= 0.1 * (mean / (std::sqrt(square) + 1e-8) + 0.2 * p[i]);
    }
    reference::ExpectNear(Values(state.parameter), p, 1e-4);
  }
  EXPECT_EQ(runtime_->BeginStep(), absl::OkStatus());
  // All three are constants still: nothing else is left behind.
  EXPECT_EQ(runtime_->Stats().engine.lineage_calls, 0);
}

TEST_F(AdamWTest, ASnapshotKeepsTheOldValue) {
  const Floats start = reference::Random(kCount, 1);
  AdamWTensors state = Fresh(start);
  const Tensor old = state.parameter.Snapshot();
  ASSERT_EQ(
      AdamWUpdate(context_, {}, 1, Make({kCount}, Floats(kCount, 1.0f)), state),
      absl::OkStatus());
  EXPECT_EQ(Values(old), start);
  EXPECT_NE(Values(state.parameter), start);
}

TEST_F(AdamWTest, ShapeErrorsNameTheShapes) {
  const AdamWTensors state = Fresh(Floats(kCount, 0.0f));
  EXPECT_EQ(AdamWUpdate(context_, {}, 1, Random({2, 3}, 1), state),
            absl::InvalidArgumentError(
                "adamw: shapes differ: parameter f32 [37], gradient f32 [2, "
                "3], m f32 [37], v f32 [37]"));
}

}  // namespace
}  // namespace rekindle::ops
