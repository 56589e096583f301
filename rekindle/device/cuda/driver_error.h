// SPDX-License-Identifier: Apache-2.0
// Driver codes as statuses.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rekindle/device/cuda/driver_api.h"

namespace rekindle::cuda {

// "CUDA_ERROR_OUT_OF_MEMORY", or "CUDA error 321" for one not in the table.
std::string ErrorName(Result result);

// True if the context is lost: every later call fails with the same code until
// the process ends.
bool IsSticky(Result result);

// OK for kSuccess, else "CALL: NAME (what it means)" with the code that the
// table gives, Internal if none.
absl::Status ToStatus(Result result, absl::string_view call);

}  // namespace rekindle::cuda
