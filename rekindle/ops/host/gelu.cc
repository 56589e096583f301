// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/gelu.h"

#include "rekindle/ops/host/math.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

constexpr float kTwoRootTwoOverPi = 1.59576912f;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715f;
constexpr int64_t kOperations = 8;  // Of an element, against a plain copy.

RK_HOST_INLINE float ExpMinusTwoU(float x) {
  return Exp(-kTwoRootTwoOverPi * (x + kCubic * x * x * x));
}

RK_HOST_CLONES void Range(const float* x, float* y, int64_t count) {
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] / (1.0f + ExpMinusTwoU(x[i]));
}

// Outside [-10, 10] the slope is 0 or 1 to the last bit that matters; inside,
// nothing overflows.
constexpr float kSaturated = 10.0f;

RK_HOST_CLONES void BackwardRange(const float* x, const float* dy, float* dx,
                                  int64_t count) {
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const float low = Select(x[i] < -kSaturated, -kSaturated, x[i]);
    const float v = Select(x[i] > kSaturated, kSaturated, low);
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
