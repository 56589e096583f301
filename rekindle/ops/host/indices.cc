// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/indices.h"

#include "absl/strings/str_cat.h"

namespace rekindle::ops::host {

absl::Status CheckIndices(absl::string_view what, int64_t count,
                          const int32_t* indices, int64_t limit) {
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < 0 || indices[i] >= limit) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, "[", i, "] is ", indices[i], ", outside [0, ", limit, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace rekindle::ops::host
