// SPDX-License-Identifier: Apache-2.0
// Between absl::Status and the statuses of the C interface. Internal to c/.
#pragma once

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rekindle/c.h"

namespace rekindle::c {

// Remembers the message for rk_last_error, unless `status` is OK.
rk_status ToC(const absl::Status& status);
absl::Status FromC(rk_status status, absl::string_view message);

// InvalidArgument unless `pointer` is set.
absl::Status NotNull(const void* pointer, absl::string_view argument);

// Runs `body`, which returns an absl::Status: nothing that it throws gets out.
template <typename Body>
rk_status Guarded(Body body) {
  try {
    return ToC(body());
  } catch (const std::exception& error) {
    return ToC(absl::InternalError(error.what()));
  } catch (...) {
    return ToC(absl::InternalError("an exception"));
  }
}

// The same for a function that gives out a handle: null after an error.
template <typename Handle, typename Body>
rk_status Making(Handle** out, Body body) {
  if (out != nullptr) *out = nullptr;
  return Guarded([&]() -> absl::Status {
    absl::Status status = NotNull(out, "where the result goes");
    return status.ok() ? body() : status;
  });
}

}  // namespace rekindle::c
