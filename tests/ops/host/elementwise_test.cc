// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/elementwise.h"

#include <gtest/gtest.h>

#include "rekindle/ops/host/bias.h"
#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::Doubles;
using reference::Floats;

constexpr int64_t kCounts[] = {0, 1, 15, 17, 1000, 100003};

TEST(ElementwiseTest, AddAddsAndMayBeInPlace) {
  for (int64_t count : kCounts) {
    const Floats a = reference::Random(count, 1),
                 b = reference::Random(count, 2);
    const Floats c = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats sum = a;
      Add(threads, count, sum.data(), b.data(), sum.data());
      return sum;
    });
    for (size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], a[i] + b[i]);
  }
}

TEST(ElementwiseTest, ScaleMultiplies) {
  for (int64_t count : kCounts) {
    const Floats x = reference::Random(count, 1);
    const Floats y = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats scaled(x.size());
      Scale(threads, count, -2.5f, x.data(), scaled.data());
      return scaled;
    });
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], x[i] * -2.5f);
  }
}

TEST(ElementwiseTest, FillWritesEveryElement) {
  for (int64_t count : kCounts) {
    Floats y(static_cast<size_t>(count), 1.0f);
    Fill({2}, count, 7.0f, y.data());
    EXPECT_EQ(y, Floats(static_cast<size_t>(count), 7.0f));
  }
}

constexpr MatrixShape kShapes[] = {{1, 1},  {1, 67},    {65, 1},
                                   {7, 19}, {200, 131}, {129, 512}};

TEST(BiasTest, IsAddedToEveryRow) {
  for (const MatrixShape shape : kShapes) {
    const Floats x = reference::Random(shape.size(), 1);
    const Floats bias = reference::Random(shape.columns, 2);
    const Floats y = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats sum = x;
      BiasAdd(threads, shape, sum.data(), bias.data(), sum.data());
      return sum;
    });
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(y[i], x[i] + bias[i % bias.size()]);
    }
  }
}

TEST(BiasTest, GradientIsTheSumOverRows) {
  for (const MatrixShape shape : kShapes) {
    const Floats dy = reference::Random(shape.size(), 1);
    const Floats got = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats dbias(static_cast<size_t>(shape.columns));
      BiasBackward(threads, shape, dy.data(), dbias.data());
      return dbias;
    });
    Doubles want(got.size(), 0.0);
    for (size_t i = 0; i < dy.size(); ++i) want[i % want.size()] += dy[i];
    reference::ExpectNear(got, want, 1e-5);
  }
}

}  // namespace
}  // namespace rekindle::ops::host
