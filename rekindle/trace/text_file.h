// SPDX-License-Identifier: Apache-2.0
// Whole text files, compressed or not.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rekindle {

// The text of a file, unpacked if it is gzip (told by its content, not its
// name), of all members one after another. Errors: NotFound or InvalidArgument,
// as FileError writes them; also if anything but gzip follows a member.
absl::StatusOr<std::string> ReadTextFile(const std::string& path);

// "path:line: reason", the form of every error about an input file.
std::string FileError(absl::string_view path, size_t line,
                      absl::string_view reason);

// Text of unknown origin for a message: printable, in quotes, cut if long.
std::string Quoted(absl::string_view text);

}  // namespace rekindle
