// SPDX-License-Identifier: Apache-2.0
// Matchers for absl::Status and absl::StatusOr. (Debian 12's Abseil has none.)
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rekindle::testing_internal {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace rekindle::testing_internal

namespace rekindle {

MATCHER(IsOk, "is OK") {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << status.ToString();
  return status.ok();
}

MATCHER_P(HasCode, code, "has code " + absl::StatusCodeToString(code)) {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code;
}

inline auto IsInvalidArgument() {
  return HasCode(absl::StatusCode::kInvalidArgument);
}
inline auto IsFailedPrecondition() {
  return HasCode(absl::StatusCode::kFailedPrecondition);
}
inline auto IsResourceExhausted() {
  return HasCode(absl::StatusCode::kResourceExhausted);
}

}  // namespace rekindle
