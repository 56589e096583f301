// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rekindle::tools {

// A budget as people write it on the command line.
class BudgetFlag {
 public:
  // "0.5", "50%": a fraction of a trace's peak. "8GiB": bytes. A bare integer
  // is refused: it could be either.
  // Errors: InvalidArgument that says what is accepted.
  static absl::StatusOr<BudgetFlag> Parse(absl::string_view text);

  // In bytes, rounded down, for a trace with this peak.
  size_t Bytes(size_t peak) const;

 private:
  double fraction_ = 0;  // 0: `bytes_` counts
  size_t bytes_ = 0;
};

}  // namespace rekindle::tools
