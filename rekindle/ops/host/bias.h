// SPDX-License-Identifier: Apache-2.0
// Adding one vector to every row.
#pragma once

#include "rekindle/ops/host/matrix_shape.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

// y[r, c] = x[r, c] + bias[c].
// x [rows, columns], bias [columns] -> y [rows, columns]; y may be x.
void BiasAdd(HostThreads threads, MatrixShape shape, const float* x,
             const float* bias, float* y);

// dbias[c] = sum over r of dy[r, c]. (The gradient of x is dy itself.)
// dy [rows, columns] -> dbias [columns].
void BiasBackward(HostThreads threads, MatrixShape shape, const float* dy,
                  float* dbias);

}  // namespace rekindle::ops::host
