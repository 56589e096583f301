// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "rekindle/runtime/kernel.h"
#include "rekindle/runtime/spec.h"

namespace rekindle::internal {

// InvalidArgument unless what a call with this many inputs says of itself
// makes sense. The message does not name the call.
absl::Status CheckCall(const CallOptions& options, size_t inputs,
                       absl::Span<const Spec> outputs);

}  // namespace rekindle::internal
