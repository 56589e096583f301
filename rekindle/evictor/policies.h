// SPDX-License-Identifier: Apache-2.0
// Policies by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rekindle/evictor/policy.h"

namespace rekindle {

// Makes a policy from "name" or "name:key=value,...". Keys of every policy:
// release=lazy|eager, instead of the rule with which it was published.
// Errors: InvalidArgument that lists what is accepted.
absl::StatusOr<std::unique_ptr<Policy>> MakePolicy(absl::string_view text);

// Names that MakePolicy knows.
std::vector<std::string> PolicyNames();

}  // namespace rekindle
