// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/softmax.h"

#include <algorithm>

#include "rekindle/ops/host/math.h"
#include "rekindle/ops/host/reduce.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

constexpr int64_t kOperations = 8;  // Of an element, against a plain copy.

// y[0, valid) = softmax(scale * x[0, valid)), then zeros. Both passes over y
// work on whole vectors where the row has them: causal rows are of every
// length, and what is made of x beyond `valid` is overwritten.
RK_HOST_CLONES void Row(int64_t columns, int64_t valid, float scale,
                        const float* x, float* y) {
  const int64_t padded =
      std::min(columns, (valid + kLanes - 1) / kLanes * kLanes);
  const float max = Reduce<MaxOf>(valid, [=](int64_t c) { return x[c]; });
  RK_HOST_INDEPENDENT
  for (int64_t c = 0; c < padded; ++c) y[c] = Exp(scale * (x[c] - max));
  std::fill(y + valid, y + columns, 0.0f);
  const float sum = Reduce<SumOf>(padded, [=](int64_t c) { return y[c]; });
  const float factor = 1.0f / sum;
  RK_HOST_INDEPENDENT
  for (int64_t c = 0; c < padded; ++c) y[c] *= factor;
}

RK_HOST_CLONES void BackwardRow(int64_t columns, float scale, const float* y,
                                const float* dy, float* dx) {
  const float dot =
      Reduce<SumOf>(columns, [=](int64_t c) { return y[c] * dy[c]; });
  RK_HOST_INDEPENDENT
  for (int64_t c = 0; c < columns; ++c) {
    dx[c] = scale * (y[c] * (dy[c] - dot));
  }
}

}  // namespace

void Softmax(HostThreads threads, MatrixShape shape, const float* x, float* y) {
  const int64_t columns = shape.columns;
  ParallelFor(threads, shape.rows, kOperations * columns,
              [=](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                  Row(columns, columns, 1.0f, x + r * columns, y + r * columns);
                }
              });
}

void SoftmaxBackward(HostThreads threads, MatrixShape shape, const float* y,
                     const float* dy, float* dx) {
  const int64_t columns = shape.columns;
  ParallelFor(threads, shape.rows, kOperations * columns,
              [=](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                  const int64_t i = r * columns;
                  BackwardRow(columns, 1.0f, y + i, dy + i, dx + i);
                }
              });
}

void CausalSoftmax(HostThreads threads, int64_t matrices, int64_t time,
                   float scale, const float* x, float* y) {
  ParallelFor(threads, matrices * time, kOperations * time,
              [=](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                  const int64_t i = r * time, valid = r % time + 1;
                  Row(time, valid, scale, x + i, y + i);
                }
              });
}

void CausalSoftmaxBackward(HostThreads threads, int64_t matrices, int64_t time,
                           float scale, const float* y, const float* dy,
                           float* dx) {
  ParallelFor(threads, matrices * time, kOperations * time,
              [=](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                  const int64_t i = r * time, valid = r % time + 1;
                  BackwardRow(valid, scale, y + i, dy + i, dx + i);
                  std::fill(dx + i + valid, dx + i + time, 0.0f);
                }
              });
}

}  // namespace rekindle::ops::host
