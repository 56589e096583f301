// SPDX-License-Identifier: Apache-2.0
// Lets the same program compile with nvcc for a GPU and with any C++ compiler
// for the host: the few names of CUDA that it uses, and a launch that runs the
// threads one after the other. Kernels must not synchronize within a block.
//
// A real CUDA program needs none of this; it includes <cuda_runtime.h>.
#pragma once

#include <cmath>
#include <cstddef>

// Runs `kernel` with at least `n` threads, each of which sees `Index()`.
#ifdef __CUDACC__

#define ADOPT_LAUNCH(kernel, n, stream, ...) \
  kernel<<<((n) + 127) / 128, 128, 0, stream>>>(__VA_ARGS__)

__device__ inline int Index() { return blockIdx.x * blockDim.x + threadIdx.x; }

#else

#include <cstdlib>
#include <cstring>

#define __global__
#define ADOPT_LAUNCH(kernel, n, stream, ...)                       \
  do {                                                             \
    static_cast<void>(stream);                                     \
    for (thread_index = 0; thread_index < ((n) + 127) / 128 * 128; \
         ++thread_index) {                                         \
      kernel(__VA_ARGS__);                                         \
    }                                                              \
  } while (false)

inline thread_local int thread_index = 0;
inline int Index() { return thread_index; }

using cudaStream_t = struct HostStream*;
enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

inline cudaError_t cudaMalloc(void** address, size_t bytes) {
  *address = std::malloc(bytes);
  return *address == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline cudaError_t cudaFree(void* address) {
  std::free(address);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes,
                              cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "out of memory";
}

#endif
