// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/layer_norm.h"

#include <cmath>

#include "rekindle/ops/host/reduce.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

constexpr int64_t kPasses = 4;  // Simple operations for an element.

RK_HOST_CLONES void Rows(int64_t columns, const LayerNormArgs& args,
                         int64_t begin, int64_t end) {
  const float count = static_cast<float>(columns);
  const float* const gamma = args.gamma;
  const float* const beta = args.beta;
  for (int64_t r = begin; r < end; ++r) {
    const float* const x = args.x + r * columns;
    float* const y = args.y + r * columns;
    const float mean =
        Reduce<SumOf>(columns, [=](int64_t c) { return x[c]; }) / count;
    const float variance =
        Reduce<SumOf>(
            columns, [=](int64_t c) { return (x[c] - mean) * (x[c] - mean); }) /
        count;
    const float rstd = 1.0f / std::sqrt(variance + args.epsilon);
    args.mean[r] = mean;
    args.rstd[r] = rstd;
    RK_HOST_INDEPENDENT
    for (int64_t c = 0; c < columns; ++c) {
      y[c] = (x[c] - mean) * rstd * gamma[c] + beta[c];
    }
  }
}

RK_HOST_CLONES void BackwardRows(int64_t columns,
                                 const LayerNormBackwardArgs& args,
                                 int64_t begin, int64_t end) {
  const float count = static_cast<float>(columns);
  const float* const gamma = args.gamma;
  for (int64_t r = begin; r < end; ++r) {
    const float* const x = args.x + r * columns;
    const float* const dy = args.dy + r * columns;
    float* const dx = args.dx + r * columns;
    const float mean = args.mean[r], rstd = args.rstd[r];
    const float g_mean =
        Reduce<SumOf>(columns, [=](int64_t c) { return dy[c] * gamma[c]; }) /
        count;
    const float gh_mean =
        Reduce<SumOf>(columns,
                      [=](int64_t c) {
                        return dy[c] * gamma[c] * ((x[c] - mean) * rstd);
                      }) /
        count;
    RK_HOST_INDEPENDENT
    for (int64_t c = 0; c < columns; ++c) {
      const float h = (x[c] - mean) * rstd;
      dx[c] = rstd * (dy[c] * gamma[c] - g_mean - h * gh_mean);
    }
  }
}

RK_HOST_CLONES void BackwardColumns(MatrixShape shape,
                                    const LayerNormBackwardArgs& args,
                                    int64_t begin, int64_t end) {
  const int64_t columns = shape.columns;
  const float *const x = args.x, *const dy = args.dy;
  const float *const mean = args.mean, *const rstd = args.rstd;
  SumColumns(
      shape.rows, begin, end,
      [=](int64_t r, int64_t c) {
        const int64_t i = r * columns + c;
        return dy[i] * ((x[i] - mean[r]) * rstd[r]);
      },
      args.dgamma);
  SumColumns(
      shape.rows, begin, end,
      [=](int64_t r, int64_t c) { return dy[r * columns + c]; }, args.dbeta);
}

}  // namespace

void LayerNorm(HostThreads threads, MatrixShape shape,
               const LayerNormArgs& args) {
  ParallelFor(threads, shape.rows, kPasses * shape.columns,
              [&](int64_t begin, int64_t end) {
                Rows(shape.columns, args, begin, end);
              });
}

void LayerNormBackward(HostThreads threads, MatrixShape shape,
                       const LayerNormBackwardArgs& args) {
  ParallelFor(threads, shape.rows, kPasses * shape.columns,
              [&](int64_t begin, int64_t end) {
                BackwardRows(shape.columns, args, begin, end);
              });
  ParallelFor(threads, shape.columns, kPasses * shape.rows,
              [&](int64_t begin, int64_t end) {
                BackwardColumns(shape, args, begin, end);
              });
}

}  // namespace rekindle::ops::host
