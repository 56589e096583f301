// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/softmax.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::Doubles;
using reference::Floats;
using reference::Widen;

constexpr MatrixShape kShapes[] = {
    {1, 1}, {3, 15}, {4, 16}, {5, 65}, {257, 131}};

TEST(SoftmaxTest, AgreesWithTheReference) {
  for (const MatrixShape shape : kShapes) {
    const Floats x = reference::Random(shape.size(), 1, 5.0f);
    const Floats y = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats out = x;
      Softmax(threads, shape, out.data(), out.data());
      return out;
    });
    reference::ExpectNear(y, reference::Softmax(Widen(x), shape.columns), 1e-6);
  }
}

TEST(SoftmaxTest, GradientAgreesWithFiniteDifferences) {
  for (const MatrixShape shape : {MatrixShape{1, 1}, {3, 15}, {2, 33}}) {
    const Floats x = reference::Random(shape.size(), 1);
    const Floats dy = reference::Random(shape.size(), 2);
    Floats y(x.size());
    Softmax({1}, shape, x.data(), y.data());
    const Floats dx = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats out(x.size());
      SoftmaxBackward(threads, shape, y.data(), dy.data(), out.data());
      return out;
    });
    reference::ExpectNear(dx,
                          reference::NumericalGradient(
                              Widen(x),
                              [&](const Doubles& v) {
                                return reference::Dot(
                                    reference::Softmax(v, shape.columns), dy);
                              }),
                          1e-5);
  }
}

TEST(SoftmaxTest, StaysFiniteForHugeInputs) {
  const Floats x = {1e30f, -1e30f, 1e30f, 0.0f};
  Floats y(4);
  Softmax({1}, {1, 4}, x.data(), y.data());
  EXPECT_EQ(y, (Floats{0.5f, 0.0f, 0.5f, 0.0f}));
}

TEST(CausalSoftmaxTest, AgreesWithTheReference) {
  for (int64_t time : {1, 3, 16, 33, 100}) {
    const Floats x = reference::Random(5 * time * time, 1, 3.0f);
    const Floats y = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats out(x.size());
      CausalSoftmax(threads, 5, time, 0.3f, x.data(), out.data());
      return out;
    });
    reference::ExpectNear(
        y, reference::CausalSoftmax(Widen(x), time, double{0.3f}), 1e-6);
  }
}

TEST(CausalSoftmaxTest, WhatIsAboveTheDiagonalDoesNotMatter) {
  constexpr int64_t kTime = 37;
  Floats x = reference::Random(kTime * kTime, 1), y(x.size()), z(x.size());
  Floats dy = reference::Random(kTime * kTime, 2), dx(x.size()), dz(x.size());
  CausalSoftmax({1}, 1, kTime, 0.3f, x.data(), y.data());
  CausalSoftmaxBackward({1}, 1, kTime, 0.3f, y.data(), dy.data(), dx.data());
  for (size_t i = 0; i < x.size(); ++i) {
    if (i % kTime <= i / kTime) continue;
    x[i] = i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : 1e30f;
    dy[i] = x[i];
  }
  CausalSoftmax({1}, 1, kTime, 0.3f, x.data(), z.data());
  CausalSoftmaxBackward({1}, 1, kTime, 0.3f, y.data(), dy.data(), dz.data());
  EXPECT_TRUE(reference::SameBits(y, z));
  EXPECT_TRUE(reference::SameBits(dx, dz));
}

TEST(CausalSoftmaxTest, GradientAgreesWithFiniteDifferences) {
  for (int64_t time : {1, 5, 18}) {
    const Floats x = reference::Random(2 * time * time, 1);
    const Floats dy = reference::Random(2 * time * time, 2);
    Floats y(x.size());
    CausalSoftmax({1}, 2, time, 0.3f, x.data(), y.data());
    const Floats dx = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats out = dy;
      CausalSoftmaxBackward(threads, 2, time, 0.3f, y.data(), out.data(),
                            out.data());
      return out;
    });
    reference::ExpectNear(
        dx,
        reference::NumericalGradient(
            Widen(x),
            [&](const Doubles& v) {
              return reference::Dot(
                  reference::CausalSoftmax(v, time, double{0.3f}), dy);
            }),
        1e-5);
  }
}

}  // namespace
}  // namespace rekindle::ops::host
