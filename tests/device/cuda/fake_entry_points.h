// SPDX-License-Identifier: Apache-2.0
// The fake driver's entry points: plain functions, as in a real library.
#pragma once

#include <cstdint>

#include "rekindle/device/cuda/driver_api.h"

namespace rekindle::cuda {

class FakeDriver;

// All functions act on the FakeDriver that is installed.
struct FakeEntryPoints {
  // Aborts if there is one already. Returns a number never returned before.
  static uint64_t Install(FakeDriver* driver);
  static void Remove();

  static DriverApi Api();
  // What dlsym finds: cuDriverGetVersion and cuGetProcAddress_v2.
  static void* Symbol(const char* name);

  static Result GetVersion(int* version);
  static Result ProcAddress(const char* name, void** function, int version,
                            uint64_t flags, int* found);
#define RK_CUDA_DECLARE(name, ...) static Result name(__VA_ARGS__);
  RK_CUDA_ENTRY_POINTS(RK_CUDA_DECLARE)
#undef RK_CUDA_DECLARE
};

}  // namespace rekindle::cuda
