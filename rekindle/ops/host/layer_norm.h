// SPDX-License-Identifier: Apache-2.0
// Layer normalization over the last dimension. Source: Ba, Kiros, Hinton,
// "Layer normalization", 2016:
//   y = (x - mean) * rstd * gamma + beta, rstd = 1 / sqrt(variance + epsilon),
// with the mean and the (biased) variance of each row.
#pragma once

#include "rekindle/ops/host/matrix_shape.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

struct LayerNormArgs {
  float epsilon = 1e-5f;
  const float* x;      // [rows, columns]
  const float* gamma;  // [columns]
  const float* beta;   // [columns]
  float* y;            // [rows, columns]; may be x
  float* mean;         // [rows], for the backward pass
  float* rstd;         // [rows], for the backward pass
};

void LayerNorm(HostThreads threads, MatrixShape shape,
               const LayerNormArgs& args);

struct LayerNormBackwardArgs {
  const float* x;      // [rows, columns]
  const float* gamma;  // [columns]
  const float* mean;   // [rows], as LayerNorm wrote it
  const float* rstd;   // [rows], as LayerNorm wrote it
  const float* dy;     // [rows, columns]
  float* dx;           // [rows, columns]; not an input
  float* dgamma;       // [columns]
  float* dbeta;        // [columns]
};

// With h = (x - mean) * rstd and g = dy * gamma:
//   dx = rstd * (g - mean(g) - h * mean(g * h)), means over the row;
//   dgamma = sum of dy * h, dbeta = sum of dy, over the rows.
void LayerNormBackward(HostThreads threads, MatrixShape shape,
                       const LayerNormBackwardArgs& args);

}  // namespace rekindle::ops::host
