// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rekindle/base/units.h"
#include "rekindle/runtime/options.h"

namespace rekindle {
namespace {

absl::Status NotABudget(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(text),
                   "\" is not a budget: accepted are a size with a unit above "
                   "zero (8GiB, 512MiB, 8GB), a share of the device's memory "
                   "above 0% and up to 100% (60%), auto and unlimited"));
}

bool IsDecimal(absl::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789.") == absl::string_view::npos;
}

absl::StatusOr<Budget> ParseShare(absl::string_view text,
                                  absl::string_view number) {
  double percent = 0;
  if (!IsDecimal(number) || !absl::SimpleAtod(number, &percent)) {
    return NotABudget(text);
  }
  if (!(percent > 0 && percent <= 100)) return NotABudget(text);
  return Budget::Fraction(percent / 100);
}

}  // namespace

absl::StatusOr<Budget> Budget::Parse(absl::string_view text) {
  absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  if (trimmed == "auto") return Auto();
  if (trimmed == "unlimited") return Unlimited();
  if (absl::ConsumeSuffix(&trimmed, "%")) {
    return ParseShare(text, absl::StripTrailingAsciiWhitespace(trimmed));
  }
  const absl::StatusOr<size_t> bytes = ParseBytes(trimmed);
  if (!bytes.ok() || *bytes == 0) return NotABudget(text);
  return Bytes(*bytes);
}

absl::StatusOr<size_t> Budget::Resolve(const MemoryInfo& memory) const {
  switch (form_) {
    case Form::kAuto: {
      const size_t margin = memory.total / 20;
      const size_t half = memory.free / 2;
      return memory.free - std::min(margin, half);
    }
    case Form::kUnlimited:
      return memory.total;
    case Form::kBytes:
      if (bytes_ > 0) return bytes_;
      return absl::InvalidArgumentError("a budget must be above zero");
    case Form::kFraction:
      if (fraction_ > 0 && fraction_ <= 1) {
        return static_cast<size_t>(
            std::floor(fraction_ * static_cast<double>(memory.total)));
      }
      return absl::InvalidArgumentError(
          absl::StrCat("a budget of ", fraction_,
                       " of the memory is not above 0 and up to 1"));
  }
  return memory.total;
}

}  // namespace rekindle
