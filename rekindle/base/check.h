// SPDX-License-Identifier: Apache-2.0
// RK_CHECK: for bugs of the caller or of this library, never for bad input.
#pragma once

namespace rekindle::internal {

// Prints "file:line: check failed: condition: detail" and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const char* detail);

}  // namespace rekindle::internal

// Aborts with the place and `detail` (a C string) unless `condition` holds.
#define RK_CHECK(condition, detail)                                  \
  (static_cast<bool>(condition) ? static_cast<void>(0)               \
                                : ::rekindle::internal::CheckFailed( \
                                      __FILE__, __LINE__, #condition, detail))
