// SPDX-License-Identifier: Apache-2.0
// The kernels of the program, as they were before it knew of Rekindle: one
// thread an element of the output, sums in a fixed order, no atomics.
// Matrices are stored row by row.
#pragma once

#include "examples/adopt_cuda/gpu_or_host.h"

// x [rows, in], w [in, out], b [out] -> z [rows, out]
__global__ void Linear(const float* x, const float* w, const float* b, float* z,
                       int rows, int in, int out) {
  const int i = Index();
  if (i >= rows * out) return;
  const int row = i / out, column = i % out;
  float sum = b[column];
  for (int k = 0; k < in; ++k) sum += x[row * in + k] * w[k * out + column];
  z[i] = sum;
}

// out = x + max(z, 0)
__global__ void AddRelu(const float* x, const float* z, float* out, int n) {
  const int i = Index();
  if (i < n) out[i] = x[i] + (z[i] > 0 ? z[i] : 0);
}

__global__ void ReluBackward(const float* dy, const float* z, float* dz,
                             int n) {
  const int i = Index();
  if (i < n) dz[i] = z[i] > 0 ? dy[i] : 0;
}

// dx = dz w^T, and `skip` [rows, in] added unless it is null.
__global__ void LinearBackward(const float* dz, const float* w,
                               const float* skip, float* dx, int rows, int in,
                               int out) {
  const int i = Index();
  if (i >= rows * in) return;
  const int row = i / in, column = i % in;
  float sum = skip == nullptr ? 0 : skip[i];
  for (int k = 0; k < out; ++k) sum += dz[row * out + k] * w[column * out + k];
  dx[i] = sum;
}

// dw = x^T dz [in, out]; db [out], the sums of the columns of dz
__global__ void ParameterGradients(const float* x, const float* dz, float* dw,
                                   float* db, int rows, int in, int out) {
  const int i = Index();
  if (i >= (in + 1) * out) return;
  const int k = i / out, column = i % out;
  float sum = 0;
  for (int row = 0; row < rows; ++row) {
    const float factor = k < in ? x[row * in + k] : 1;
    sum += factor * dz[row * out + column];
  }
  if (k < in) {
    dw[i] = sum;
  } else {
    db[column] = sum;
  }
}

// Cross entropy of each row (a thread a row) and its gradient, of the mean.
__global__ void SoftmaxLoss(const float* logits, const int* labels,
                            float* losses, float* dlogits, int rows,
                            int classes) {
  const int row = Index();
  if (row >= rows) return;
  const float* x = logits + row * classes;
  float most = x[0], sum = 0;
  for (int k = 1; k < classes; ++k) most = x[k] > most ? x[k] : most;
  for (int k = 0; k < classes; ++k) sum += expf(x[k] - most);
  losses[row] = logf(sum) + most - x[labels[row]];
  for (int k = 0; k < classes; ++k) {
    const float p = expf(x[k] - most) / sum;
    dlogits[row * classes + k] = (p - (k == labels[row] ? 1 : 0)) / rows;
  }
}

__global__ void Mean(const float* x, float* mean, int n) {
  if (Index() != 0) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i];
  *mean = sum / n;
}

__global__ void Sgd(float* w, const float* dw, float rate, int n) {
  const int i = Index();
  if (i < n) w[i] -= rate * dw[i];
}
