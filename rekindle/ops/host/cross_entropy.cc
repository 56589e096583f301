// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/cross_entropy.h"

#include <cmath>

#include "rekindle/base/status_macros.h"
#include "rekindle/ops/host/indices.h"
#include "rekindle/ops/host/math.h"
#include "rekindle/ops/host/reduce.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

constexpr int64_t kOperations = 8;  // Of an element, against a plain copy.

RK_HOST_CLONES float LogSumExp(int64_t columns, const float* x) {
  const float max = Reduce<MaxOf>(columns, [=](int64_t c) { return x[c]; });
  const float sum =
      Reduce<SumOf>(columns, [=](int64_t c) { return Exp(x[c] - max); });
  return max + std::log(sum);
}

RK_HOST_CLONES void BackwardRow(int64_t columns, float scale, const float* x,
                                float logsumexp, float* dx) {
  RK_HOST_INDEPENDENT
  for (int64_t c = 0; c < columns; ++c) dx[c] = scale * Exp(x[c] - logsumexp);
}

}  // namespace

absl::Status CrossEntropy(HostThreads threads, MatrixShape shape,
                          const float* logits, const int32_t* targets,
                          float* loss, float* logsumexp) {
  const int64_t rows = shape.rows, columns = shape.columns;
  RK_RETURN_IF_ERROR(CheckIndices("target", rows, targets, columns));
  ParallelFor(threads, rows, kOperations * columns,
              [=](int64_t begin, int64_t end) {
                for (int64_t r = begin; r < end; ++r) {
                  logsumexp[r] = LogSumExp(columns, logits + r * columns);
                }
              });
  double sum = 0.0;
  for (int64_t r = 0; r < rows; ++r) {
    sum += double{logsumexp[r]} - double{logits[r * columns + targets[r]]};
  }
  *loss = static_cast<float>(sum / static_cast<double>(rows));
  return absl::OkStatus();
}

absl::Status CrossEntropyBackward(HostThreads threads, MatrixShape shape,
                                  const float* logits, const int32_t* targets,
                                  const float* logsumexp, const float* dloss,
                                  float* dlogits) {
  const int64_t rows = shape.rows, columns = shape.columns;
  RK_RETURN_IF_ERROR(CheckIndices("target", rows, targets, columns));
  const float scale = *dloss / static_cast<float>(rows);
  ParallelFor(
      threads, rows, kOperations * columns, [=](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const int64_t i = r * columns;
          BackwardRow(columns, scale, logits + i, logsumexp[r], dlogits + i);
          dlogits[i + targets[r]] -= scale;
        }
      });
  return absl::OkStatus();
}

}  // namespace rekindle::ops::host
