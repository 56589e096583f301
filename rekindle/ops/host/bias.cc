// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/bias.h"

#include "rekindle/ops/host/reduce.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

RK_HOST_CLONES void AddRow(const float* x, const float* bias, float* y,
                           int64_t columns) {
  RK_HOST_INDEPENDENT
  for (int64_t c = 0; c < columns; ++c) y[c] = x[c] + bias[c];
}

RK_HOST_CLONES void SumRange(MatrixShape shape, const float* dy, int64_t begin,
                             int64_t end, float* dbias) {
  SumColumns(
      shape.rows, begin, end,
      [=](int64_t r, int64_t c) { return dy[r * shape.columns + c]; }, dbias);
}

}  // namespace

void BiasAdd(HostThreads threads, MatrixShape shape, const float* x,
             const float* bias, float* y) {
  const int64_t columns = shape.columns;
  ParallelFor(threads, shape.rows, columns, [=](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      AddRow(x + r * columns, bias, y + r * columns, columns);
    }
  });
}

void BiasBackward(HostThreads threads, MatrixShape shape, const float* dy,
                  float* dbias) {
  ParallelFor(threads, shape.columns, shape.rows,
              [=](int64_t begin, int64_t end) {
                SumRange(shape, dy, begin, end, dbias);
              });
}

}  // namespace rekindle::ops::host
