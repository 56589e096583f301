// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rekindle/device/device.h"

namespace rekindle::internal {

// Opens what RuntimeOptions::device names. Errors: Unavailable for a device
// that this build does not have, InvalidArgument for no name of a device.
absl::StatusOr<std::shared_ptr<Device>> OpenDevice(const std::string& name);

// As `cuda:0`.
bool IsCudaName(const std::string& name);

}  // namespace rekindle::internal
