// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/budget_flag.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rekindle/base/units.h"

namespace rekindle::tools {
namespace {

constexpr double kLargestFraction = 1e6;

// Digits with at most one point: no sign, no exponent.
bool IsDecimal(absl::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789");
  if (digits == absl::string_view::npos) return !text.empty();
  return text[digits] == '.' && text.size() > 1 &&
         text.find_first_not_of("0123456789", digits + 1) ==
             absl::string_view::npos;
}

absl::Status Refuse(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text,
      "\" is no budget: accepted are a fraction of the peak, with a decimal "
      "point or a percent sign (1.01, 101%), or bytes with a unit (8GiB, "
      "512MiB)"));
}

}  // namespace

absl::StatusOr<BudgetFlag> BudgetFlag::Parse(absl::string_view text) {
  BudgetFlag flag;
  absl::string_view number = text;
  const bool percent = absl::ConsumeSuffix(&number, "%");
  if (IsDecimal(number)) {
    const bool point = absl::StrContains(number, '.');
    if (!percent && !point) return Refuse(text);
    if (!absl::SimpleAtod(number, &flag.fraction_)) return Refuse(text);
    if (percent) flag.fraction_ /= 100;
    if (!(flag.fraction_ > 0 && flag.fraction_ <= kLargestFraction)) {
      return Refuse(text);
    }
    return flag;
  }
  const absl::StatusOr<size_t> bytes = ParseBytes(text);
  if (!bytes.ok() || *bytes == 0) return Refuse(text);
  flag.bytes_ = *bytes;
  return flag;
}

size_t BudgetFlag::Bytes(size_t peak) const {
  if (fraction_ == 0) return bytes_;
  return static_cast<size_t>(fraction_ * static_cast<double>(peak));
}

}  // namespace rekindle::tools
