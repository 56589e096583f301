// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"

namespace rekindle::internal {

// Puts `bytes` into the file, over what it held. Errors: Unavailable, with the
// path and the system's reason.
absl::Status WriteFile(const std::string& path, const std::string& bytes);

}  // namespace rekindle::internal
