// SPDX-License-Identifier: Apache-2.0
// Early return on error, for functions that return absl::Status or
// absl::StatusOr.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define RK_INTERNAL_CONCAT2(a, b) a##b
#define RK_INTERNAL_CONCAT(a, b) RK_INTERNAL_CONCAT2(a, b)

// Returns the status of `expression` from this function unless it is OK.
#define RK_RETURN_IF_ERROR(expression)       \
  do {                                       \
    absl::Status rk_status_ = (expression);  \
    if (!rk_status_.ok()) return rk_status_; \
  } while (false)

// Evaluates `expression`, an absl::StatusOr<T>; on error returns its status,
// else moves the value into `target`, which may declare a variable.
#define RK_ASSIGN_OR_RETURN(target, expression)                              \
  RK_INTERNAL_ASSIGN_OR_RETURN(RK_INTERNAL_CONCAT(rk_or_, __LINE__), target, \
                               expression)
#define RK_INTERNAL_ASSIGN_OR_RETURN(result, target, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) return std::move(result).status();           \
  target = *std::move(result)
