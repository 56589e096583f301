// SPDX-License-Identifier: Apache-2.0
// The environment variables of the process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace rekindle {

// The value, or nullopt if the variable is not set. Thread-hostile: no other
// thread may change the environment meanwhile.
std::optional<std::string> GetEnvironment(const char* name);

// Names of all variables that are set and start with `prefix`, sorted.
// Thread-hostile, as above.
std::vector<std::string> EnvironmentNames(absl::string_view prefix);

}  // namespace rekindle
