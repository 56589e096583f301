// SPDX-License-Identifier: Apache-2.0
#include "rekindle/base/units.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace rekindle {
namespace {

struct Unit {
  const char* name;
  double bytes;
};

constexpr Unit kUnits[] = {
    {"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
    {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"KB", 1e3},
    {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
};

absl::Status BadSize(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", absl::CHexEscape(text),
      "\" is not a size: a number with a unit is accepted, such "
      "as 8GiB, 512MiB or 8GB (units B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"));
}

}  // namespace

std::string FormatBytes(size_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes >= kGiB) return absl::StrFormat("%.2f GiB", value / kGiB);
  if (bytes >= kMiB) return absl::StrFormat("%.2f MiB", value / kMiB);
  if (bytes >= kKiB) return absl::StrFormat("%.2f KiB", value / kKiB);
  return absl::StrCat(bytes, " B");
}

std::string FormatBytesAtLeast(size_t bytes) {
  const size_t unit = bytes >= kGiB ? kGiB : bytes >= kMiB ? kMiB : kKiB;
  if (bytes < kKiB) return FormatBytes(bytes);
  const double hundredth = static_cast<double>(unit) / 100;
  const double up = std::ceil(static_cast<double>(bytes) / hundredth);
  return FormatBytes(static_cast<size_t>(std::ceil(up * hundredth)));
}

absl::StatusOr<size_t> ParseBytes(absl::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  const size_t digits = trimmed.find_first_not_of("0123456789.");
  if (digits == 0 || digits == absl::string_view::npos) return BadSize(text);
  double number = 0;
  if (!absl::SimpleAtod(trimmed.substr(0, digits), &number)) {
    return BadSize(text);
  }
  const absl::string_view unit =
      absl::StripLeadingAsciiWhitespace(trimmed.substr(digits));
  for (const Unit& candidate : kUnits) {
    if (unit != candidate.name) continue;
    const double bytes = std::floor(number * candidate.bytes);
    if (!(bytes < 0x1p63)) return BadSize(text);
    return static_cast<size_t>(bytes);
  }
  return BadSize(text);
}

}  // namespace rekindle
