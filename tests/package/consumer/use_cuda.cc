// SPDX-License-Identifier: Apache-2.0
// rekindle::cuda links everywhere, and says why there is no GPU to be had.
#include <cstdio>

#include "rekindle/device/cuda/cuda_device.h"

int main() {
  const auto device = rekindle::OpenCudaDevice(0);
  if (device.ok()) return 0;
  std::printf("%s\n", device.status().ToString().c_str());
  return absl::IsUnavailable(device.status()) ? 0 : 1;
}
