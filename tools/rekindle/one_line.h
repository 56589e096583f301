// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace rekindle::tools {

// The text with control characters written as in C ("\n", "\x1b"), so that a
// path or an argument breaks no line and no terminal. All else stays.
std::string OneLine(absl::string_view text);

// Writes `message` to stderr, as one line.
void PrintError(absl::string_view message);

}  // namespace rekindle::tools
