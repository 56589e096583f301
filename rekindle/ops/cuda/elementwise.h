// SPDX-License-Identifier: Apache-2.0
// Elementwise CUDA kernels over contiguous float32 arrays in device memory.
//
// Each function queues one kernel on `stream` and returns at once with the
// launch's status; errors of the run itself show up at the stream's next
// synchronisation. Same inputs, same bits: no atomics, and no arithmetic that
// depends on how the launch was cut into blocks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace rekindle::ops::cuda {

// x[i] = value for i in [0, n).
cudaError_t Fill(float* x, float value, size_t n, cudaStream_t stream);

// y[i] = alpha * x[i] + y[i] for i in [0, n), rounded once (fused).
// REQUIRES: x and y are the same array or do not overlap.
cudaError_t Axpy(float alpha, const float* x, float* y, size_t n,
                 cudaStream_t stream);

// out[i] = a[i] + b[i] for i in [0, n). `out` may be `a` or `b`.
cudaError_t Add(const float* a, const float* b, float* out, size_t n,
                cudaStream_t stream);

}  // namespace rekindle::ops::cuda
