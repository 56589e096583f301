// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rekindle/device/cuda/driver_loader.h"

namespace rekindle::tools {

// As cuda::DriverLibrary, for a program that must outlive a damaged file, which
// kills whoever opens it: a child process opens it first.
// REQUIRES: the process has one thread.
cuda::DriverSource CarefulDriverLibrary(std::string file = "libcuda.so.1");

}  // namespace rekindle::tools
