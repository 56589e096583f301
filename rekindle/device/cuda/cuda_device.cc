// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/cuda/cuda_device.h"

#include "absl/strings/str_cat.h"

namespace rekindle {

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal) {
  return absl::UnavailableError(
      absl::StrCat("cannot open cuda:", ordinal,
                   ": this build of Rekindle has no CUDA backend"));
}

}  // namespace rekindle
