// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rekindle/engine/types.h"

namespace rekindle::internal {

// `"block7/softmax" (train.cc:212): message`; OK stays OK.
inline absl::Status Named(const Label& label, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(ToString(label), ": ", status.message()));
}

}  // namespace rekindle::internal
