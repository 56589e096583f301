// SPDX-License-Identifier: Apache-2.0
#include "rekindle/c/status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace rekindle::c {
namespace {

// As errno: C has no other way to hand a message over beside the status.
std::string& LastError() {
  thread_local std::string message;
  return message;
}

}  // namespace

rk_status ToC(const absl::Status& status) {
  if (status.ok()) return RK_OK;
  LastError() = std::string(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return RK_INVALID_ARGUMENT;
    case absl::StatusCode::kResourceExhausted:
      return RK_RESOURCE_EXHAUSTED;
    case absl::StatusCode::kFailedPrecondition:
      return RK_FAILED_PRECONDITION;
    case absl::StatusCode::kAborted:
      return RK_ABORTED;
    case absl::StatusCode::kUnimplemented:
      return RK_UNIMPLEMENTED;
    case absl::StatusCode::kInternal:
      return RK_INTERNAL;
    case absl::StatusCode::kUnavailable:
      return RK_UNAVAILABLE;
    default:
      return RK_UNKNOWN;
  }
}

absl::Status FromC(rk_status status, absl::string_view message) {
  switch (status) {
    case RK_OK:
      return absl::OkStatus();
    case RK_UNKNOWN:
    case RK_INVALID_ARGUMENT:
    case RK_RESOURCE_EXHAUSTED:
    case RK_FAILED_PRECONDITION:
    case RK_ABORTED:
    case RK_UNIMPLEMENTED:
    case RK_INTERNAL:
    case RK_UNAVAILABLE:
      return absl::Status(static_cast<absl::StatusCode>(status), message);
  }
  return absl::UnknownError(absl::StrCat("status ", static_cast<int>(status),
                                         message.empty() ? "" : ": ", message));
}

absl::Status NotNull(const void* pointer, absl::string_view argument) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(argument, " is NULL"));
}

}  // namespace rekindle::c

const char* rk_last_error(void) { return rekindle::c::LastError().c_str(); }

rk_status rk_fail(rk_status status, const char* message) {
  rekindle::c::LastError() = message == nullptr ? "" : message;
  return status;
}
