// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/layer_norm.h"

#include <gtest/gtest.h>

#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::Doubles;
using reference::Floats;
using reference::Widen;

constexpr float kEpsilon = 1e-5f;

struct Case {
  explicit Case(MatrixShape s) : shape(s) {
    for (float& value : x) value += 0.5f;
  }

  MatrixShape shape;
  Floats x = reference::Random(shape.size(), 1);
  Floats gamma = reference::Random(shape.columns, 2);
  Floats beta = reference::Random(shape.columns, 3);
  Floats dy = reference::Random(shape.size(), 4);

  // y, then mean, then rstd.
  Floats Forward(HostThreads threads) const {
    Floats out(x.size() + 2 * static_cast<size_t>(shape.rows));
    float* const mean = out.data() + shape.size();
    LayerNorm(threads, shape,
              {.epsilon = kEpsilon,
               .x = x.data(),
               .gamma = gamma.data(),
               .beta = beta.data(),
               .y = out.data(),
               .mean = mean,
               .rstd = mean + shape.rows});
    return out;
  }

  // dx, then dgamma, then dbeta.
  Floats Backward(HostThreads threads) const {
    const Floats forward = Forward(threads);
    const float* const mean = forward.data() + shape.size();
    Floats out(x.size() + 2 * gamma.size());
    LayerNormBackward(threads, shape,
                      {.x = x.data(),
                       .gamma = gamma.data(),
                       .mean = mean,
                       .rstd = mean + shape.rows,
                       .dy = dy.data(),
                       .dx = out.data(),
                       .dgamma = out.data() + shape.size(),
                       .dbeta = out.data() + shape.size() + shape.columns});
    return out;
  }
};

TEST(LayerNormTest, AgreesWithTheReference) {
  for (const MatrixShape shape :
       {MatrixShape{1, 1}, {1, 33}, {5, 16}, {67, 129}, {512, 128}}) {
    const Case c(shape);
    Floats y = reference::SameForAnyThreads(
        [&](HostThreads threads) { return c.Forward(threads); });
    y.resize(c.x.size());
    reference::ExpectNear(y,
                          reference::LayerNorm(Widen(c.x), Widen(c.gamma),
                                               Widen(c.beta), kEpsilon),
                          1e-5);
  }
}

TEST(LayerNormTest, GradientsAgreeWithFiniteDifferences) {
  for (const MatrixShape shape :
       {MatrixShape{1, 2}, {3, 17}, {9, 33}, {70, 5}}) {
    const Case c(shape);
    const Doubles x = Widen(c.x), gamma = Widen(c.gamma), beta = Widen(c.beta);
    Doubles want = reference::NumericalGradient(x, [&](const Doubles& v) {
      return reference::Dot(reference::LayerNorm(v, gamma, beta, kEpsilon),
                            c.dy);
    });
    for (double g : reference::NumericalGradient(gamma, [&](const Doubles& v) {
           return reference::Dot(reference::LayerNorm(x, v, beta, kEpsilon),
                                 c.dy);
         })) {
      want.push_back(g);
    }
    for (double g : reference::NumericalGradient(beta, [&](const Doubles& v) {
           return reference::Dot(reference::LayerNorm(x, gamma, v, kEpsilon),
                                 c.dy);
         })) {
      want.push_back(g);
    }
    reference::ExpectNear(c.Backward({1}), want, 1e-4);
  }
}

TEST(LayerNormTest, GradientsHaveTheSameBitsForAnyThreads) {
  const Case c({517, 131});
  reference::SameForAnyThreads(
      [&](HostThreads threads) { return c.Backward(threads); });
}

TEST(LayerNormTest, AConstantRowBecomesBeta) {
  Case c({2, 19});
  std::fill(c.x.begin(), c.x.end(), 3.0f);
  const Floats out = c.Forward({1});
  for (size_t i = 0; i < c.x.size(); ++i) {
    EXPECT_NEAR(out[i], c.beta[i % c.beta.size()], 1e-3);
  }
}

}  // namespace
}  // namespace rekindle::ops::host
