// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/exhaustion.h"

#include "absl/strings/str_cat.h"

namespace rekindle::internal {
namespace {

bool IsSame(const Label& a, const Label& b) {
  return a.name == b.name && a.line == b.line;
}

}  // namespace

std::string ExhaustionMessage(const Shortfall& shortfall, const Label& asked,
                              int64_t step) {
  std::string message;
  if (step > 0) absl::StrAppend(&message, "step ", step, " ");
  if (!IsSame(shortfall.label, asked)) {
    absl::StrAppend(&message, ToString(asked), ": ");
  }
  return absl::StrCat(message, ToString(shortfall));
}

}  // namespace rekindle::internal
