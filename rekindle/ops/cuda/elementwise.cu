// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "rekindle/ops/cuda/elementwise.h"

namespace rekindle::ops::cuda {
namespace {

constexpr unsigned kThreads = 256;
// Enough blocks to fill any card; the grid-stride loop does the rest.
constexpr size_t kMaxBlocks = 4096;

// Calls f(i) for every i in [0, n), spread over the whole grid.
template <typename F>
__global__ void ForEachKernel(size_t n, F f) {
  const size_t stride = size_t{blockDim.x} * gridDim.x;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    f(i);
  }
}

template <typename F>
cudaError_t ForEach(size_t n, cudaStream_t stream, F f) {
  if (n == 0) return cudaSuccess;  // a grid of zero blocks is an error
  const size_t blocks = std::min((n + kThreads - 1) / kThreads, kMaxBlocks);
  ForEachKernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(n, f);
  return cudaGetLastError();
}

struct FillElement {
  float* x;
  float value;
  __device__ void operator()(size_t i) const { x[i] = value; }
};

struct AxpyElement {
  float alpha;
  const float* x;
  float* y;
  __device__ void operator()(size_t i) const { y[i] = fmaf(alpha, x[i], y[i]); }
};

struct AddElement {
  const float* a;
  const float* b;
  float* out;
  __device__ void operator()(size_t i) const { out[i] = a[i] + b[i]; }
};

}  // namespace

cudaError_t Fill(float* x, float value, size_t n, cudaStream_t stream) {
  return ForEach(n, stream, FillElement{x, value});
}

cudaError_t Axpy(float alpha, const float* x, float* y, size_t n,
                 cudaStream_t stream) {
  return ForEach(n, stream, AxpyElement{alpha, x, y});
}

cudaError_t Add(const float* a, const float* b, float* out, size_t n,
                cudaStream_t stream) {
  return ForEach(n, stream, AddElement{a, b, out});
}

}  // namespace rekindle::ops::cuda
