// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/adamw.h"

#include <gtest/gtest.h>

#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::Doubles;
using reference::Floats;

constexpr AdamWOptions kOptions = {.learning_rate = 0.01f,
                                   .beta1 = 0.9f,
                                   .beta2 = 0.99f,
                                   .epsilon = 1e-8f,
                                   .weight_decay = 0.1f};

// Parameter, m and v after three steps.
Floats ThreeSteps(HostThreads threads, const Floats& start) {
  const auto count = static_cast<int64_t>(start.size());
  Floats p = start, m(start.size(), 0.0f), v(m);
  for (int64_t step = 1; step <= 3; ++step) {
    const Floats g = reference::Random(count, static_cast<uint32_t>(10 + step));
    AdamW(threads, count, kOptions, step, g.data(), p.data(), m.data(),
          v.data());
  }
  p.insert(p.end(), m.begin(), m.end());
  p.insert(p.end(), v.begin(), v.end());
  return p;
}

Doubles Reference(const Floats& start) {
  const auto count = static_cast<int64_t>(start.size());
  const double b1 = kOptions.beta1, b2 = kOptions.beta2;
  Doubles p = reference::Widen(start), m(p.size(), 0.0), v(m);
  for (int64_t step = 1; step <= 3; ++step) {
    const Floats g = reference::Random(count, static_cast<uint32_t>(10 + step));
    for (size_t i = 0; i < p.size(); ++i) {
      m[i] = b1 * m[i] + (1 - b1) * g[i];
      v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(b1, step));
      const double v_hat = v[i] / (1 - std::pow(b2, step));
      p[i] -= kOptions.learning_rate *
              (m_hat / (std::sqrt(v_hat) + kOptions.epsilon) +
               kOptions.weight_decay * p[i]);
    }
  }
  p.insert(p.end(), m.begin(), m.end());
  p.insert(p.end(), v.begin(), v.end());
  return p;
}

TEST(AdamWTest, AgreesWithTheReference) {
  for (int64_t count : {1, 17, 100003}) {
    const Floats start = reference::Random(count, 1);
    const Floats got = reference::SameForAnyThreads(
        [&](HostThreads threads) { return ThreeSteps(threads, start); });
    reference::ExpectNear(got, Reference(start), 1e-5);
  }
}

TEST(AdamWTest, AZeroGradientOnlyDecays) {
  Floats p = {2.0f}, m = {0.0f}, v = {0.0f};
  const Floats g = {0.0f};
  AdamW({1}, 1, kOptions, 1, g.data(), p.data(), m.data(), v.data());
  EXPECT_FLOAT_EQ(p[0], 2.0f * (1.0f - 0.01f * 0.1f));
}

TEST(AdamWDeathTest, CountsStepsFromOne) {
  float x = 0.0f;
  EXPECT_DEATH(AdamW({1}, 1, kOptions, 0, &x, &x, &x, &x), "from 1");
}

}  // namespace
}  // namespace rekindle::ops::host
