// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/exhaustion.h"

#include "absl/strings/str_cat.h"
#include "rekindle/base/units.h"

namespace rekindle::internal {
namespace {

bool IsSame(const Label& a, const Label& b) {
  return a.name() == b.name() && a.line() == b.line();
}

}  // namespace

std::string ExhaustionMessage(const Shortfall& shortfall, const Label& asked,
                              int64_t step, std::optional<size_t> step_budget) {
  std::string message;
  if (step > 0) absl::StrAppend(&message, "step ", step, " ");
  if (!IsSame(shortfall.label, asked)) {
    absl::StrAppend(&message, ToString(asked), ": ");
  }
  absl::StrAppend(&message, ToString(shortfall));
  if (step_budget.has_value() && *step_budget > shortfall.needed_budget) {
    message.pop_back();  // the period
    absl::StrAppend(&message, "; a plan for the whole step exists at ",
                    FormatBytesAtLeast(*step_budget), ".");
  }
  return message;
}

}  // namespace rekindle::internal
