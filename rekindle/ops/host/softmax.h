// SPDX-License-Identifier: Apache-2.0
// Softmax over the last dimension, whole or causal. Results stay finite for
// any finite input: the largest element of a row is subtracted first.
#pragma once

#include <cstdint>

#include "rekindle/ops/host/matrix_shape.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

// y[r, :] = softmax(x[r, :]). x [rows, columns] -> y [rows, columns]; y may
// be x.
void Softmax(HostThreads threads, MatrixShape shape, const float* x, float* y);

// dx = y * (dy - sum(y * dy)), the sum over the row.
// y [rows, columns], dy [rows, columns] -> dx [rows, columns]; dx may be dy.
void SoftmaxBackward(HostThreads threads, MatrixShape shape, const float* y,
                     const float* dy, float* dx);

// Row t of each matrix: softmax(scale * x[t, 0..t]), then zeros. What is above
// the diagonal of x does not matter.
// x [matrices, time, time] -> y [matrices, time, time]; y may be x.
// REQUIRES: scale > 0.
void CausalSoftmax(HostThreads threads, int64_t matrices, int64_t time,
                   float scale, const float* x, float* y);

// The gradient of CausalSoftmax, zeros above the diagonal included. What is
// above the diagonal of dy does not matter.
// y, dy [matrices, time, time] -> dx [matrices, time, time]; dx may be dy.
void CausalSoftmaxBackward(HostThreads threads, int64_t matrices, int64_t time,
                           float scale, const float* y, const float* dy,
                           float* dx);

}  // namespace rekindle::ops::host
