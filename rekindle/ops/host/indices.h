// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace rekindle::ops::host {

// OK if all of `indices` [count] are in [0, limit).
// Errors: InvalidArgument that names the first one that is not, its place and
// `what` it is.
absl::Status CheckIndices(absl::string_view what, int64_t count,
                          const int32_t* indices, int64_t limit);

}  // namespace rekindle::ops::host
