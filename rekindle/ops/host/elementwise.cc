// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/elementwise.h"

#include <algorithm>

#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

RK_HOST_CLONES void AddRange(const float* a, const float* b, float* c,
                             int64_t count) {
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) c[i] = a[i] + b[i];
}

RK_HOST_CLONES void ScaleRange(float factor, const float* x, float* y,
                               int64_t count) {
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) y[i] = factor * x[i];
}

}  // namespace

void Fill(HostThreads threads, int64_t count, float value, float* y) {
  ParallelFor(threads, count, 1, [=](int64_t begin, int64_t end) {
    std::fill(y + begin, y + end, value);
  });
}

void Add(HostThreads threads, int64_t count, const float* a, const float* b,
         float* c) {
  ParallelFor(threads, count, 1, [=](int64_t begin, int64_t end) {
    AddRange(a + begin, b + begin, c + begin, end - begin);
  });
}

void Scale(HostThreads threads, int64_t count, float factor, const float* x,
           float* y) {
  ParallelFor(threads, count, 1, [=](int64_t begin, int64_t end) {
    ScaleRange(factor, x + begin, y + begin, end - begin);
  });
}

}  // namespace rekindle::ops::host
