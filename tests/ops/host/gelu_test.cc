// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/gelu.h"

#include <gtest/gtest.h>

#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::Doubles;
using reference::Floats;

Floats Inputs(int64_t count) {
  Floats x = reference::Random(count, 1, 3.0f);
  const float edges[] = {0.0f, -0.0f, 30.0f, -30.0f, 1e-20f, 1e6f, -1e6f};
  std::copy_n(edges, std::min<int64_t>(7, count), x.begin());
  return x;
}

Floats RunGelu(HostThreads threads, const Floats& x) {
  Floats y(x.size());
  Gelu(threads, static_cast<int64_t>(x.size()), x.data(), y.data());
  return y;
}

TEST(GeluTest, AgreesWithTheTanhForm) {
  for (int64_t count : {1, 7, 16, 33, 100003}) {
    const Floats x = Inputs(count);
    const Floats y = reference::SameForAnyThreads(
        [&](HostThreads threads) { return RunGelu(threads, x); });
    Doubles want;
    for (float value : x) want.push_back(reference::Gelu(value));
    reference::ExpectNear(y, want, 1e-6);
  }
}

TEST(GeluTest, GradientAgreesWithFiniteDifferences) {
  for (int64_t count : {1, 7, 16, 33, 100003}) {
    Floats x = Inputs(count);
    for (float& value : x) value = std::clamp(value, -30.0f, 30.0f);
    const Floats dy = reference::Random(count, 2);
    const Floats dx = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats gradient(x.size());
      GeluBackward(threads, count, x.data(), dy.data(), gradient.data());
      return gradient;
    });
    Doubles want;
    for (size_t i = 0; i < x.size(); ++i) {
      const double h = 1e-5;
      want.push_back(dy[i] *
                     (reference::Gelu(x[i] + h) - reference::Gelu(x[i] - h)) /
                     (2 * h));
    }
    reference::ExpectNear(dx, want, 2e-6);
  }
}

TEST(GeluTest, GradientSaturatesForHugeInputs) {
  const Floats x = {1e15f, -1e15f, 1e6f, -1e6f}, dy(4, 1.0f);
  Floats dx(4);
  GeluBackward({1}, 4, x.data(), dy.data(), dx.data());
  reference::ExpectNear(dx, {1.0, 0.0, 1.0, 0.0}, 1e-30);
}

TEST(GeluTest, MayWriteOverItsInputs) {
  const Floats x = Inputs(1001), dy = reference::Random(1001, 2);
  Floats y = x;
  Gelu({1}, 1001, y.data(), y.data());
  EXPECT_TRUE(reference::SameBits(y, RunGelu({1}, x)));
  Floats over_x = x, over_dy = dy;
  GeluBackward({1}, 1001, over_x.data(), dy.data(), over_x.data());
  GeluBackward({1}, 1001, x.data(), over_dy.data(), over_dy.data());
  EXPECT_TRUE(reference::SameBits(over_x, over_dy));
}

}  // namespace
}  // namespace rekindle::ops::host
