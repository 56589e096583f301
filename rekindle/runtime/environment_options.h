// SPDX-License-Identifier: Apache-2.0
// Which environment variables there are.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace rekindle::internal {

// One warning for each of `names` (all start with "REKINDLE_") that Rekindle
// does not know, with the known one that was probably meant.
std::vector<std::string> UnknownVariableWarnings(
    absl::Span<const std::string> names);

}  // namespace rekindle::internal
