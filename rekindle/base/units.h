// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes as people write them.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rekindle {

inline constexpr size_t kKiB = size_t{1} << 10;
inline constexpr size_t kMiB = size_t{1} << 20;
inline constexpr size_t kGiB = size_t{1} << 30;

// "1.50 GiB", "300.00 MiB", "17 B": the largest unit that the value reaches.
std::string FormatBytes(size_t bytes);

// The same, never below `bytes`: what ParseBytes reads from it is enough.
std::string FormatBytesAtLeast(size_t bytes);

// Reads a size with a unit: B, KiB, MiB, GiB, TiB (powers of 1024) or KB, MB,
// GB, TB (powers of 1000), decimals allowed ("1.5GiB", "512 MiB"). A bare
// number is refused: nobody can tell its unit.
// Errors: InvalidArgument that says what is accepted.
absl::StatusOr<size_t> ParseBytes(absl::string_view text);

// The smallest multiple of `multiple` that is at least `bytes`.
// REQUIRES: multiple > 0, and the result fits a size_t.
constexpr size_t RoundUp(size_t bytes, size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

constexpr size_t RoundDown(size_t bytes, size_t multiple) {
  return bytes / multiple * multiple;
}

}  // namespace rekindle
