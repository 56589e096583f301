// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/gelu.h"

#include "rekindle/ops/host/math.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

constexpr float kTwoRootTwoOverPi = 1.59576912f;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715f;
constexpr int64_t kOperations = 8;  // Of an element, against a plain copy.

// exp(-2 u), held finite so that it can be multiplied by zero.
RK_HOST_INLINE float ExpMinusTwoU(float x) {
  const float e = Exp(-kTwoRootTwoOverPi * (x + kCubic * x * x * x));
  return Select(e > 3e38f, 3e38f, e);
}

RK_HOST_CLONES void Range(const float* x, float* y, int64_t count) {
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] / (1.0f + ExpMinusTwoU(x[i]));
}

RK_HOST_CLONES void BackwardRange(const float* x, const float* dy, float* dx,
                                  int64_t count) {
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const float v = x[i];
    const float e = ExpMinusTwoU(v);
    const float s = 1.0f / (1.0f + e);
    const float slope = kTwoRootTwoOverPi * (1.0f + 3.0f * kCubic * v * v);
    dx[i] = dy[i] * (s + v * ((e * s) * s) * slope);
  }
}

}  // namespace

void Gelu(HostThreads threads, int64_t count, const float* x, float* y) {
  ParallelFor(threads, count, kOperations, [=](int64_t begin, int64_t end) {
    Range(x + begin, y + begin, end - begin);
  });
}

void GeluBackward(HostThreads threads, int64_t count, const float* x,
                  const float* dy, float* dx) {
  ParallelFor(threads, count, kOperations, [=](int64_t begin, int64_t end) {
    BackwardRange(x + begin, dy + begin, dx + begin, end - begin);
  });
}

}  // namespace rekindle::ops::host
