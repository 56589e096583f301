// SPDX-License-Identifier: Apache-2.0
// The CUDA backend. This header needs no CUDA toolkit.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "rekindle/device/device.h"

namespace rekindle {

// Opens GPU number `ordinal`, counted as the CUDA runtime counts.
// Errors: Unavailable, with the reason, when this build has no CUDA backend.
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal);

}  // namespace rekindle
