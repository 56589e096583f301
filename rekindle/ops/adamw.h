// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "rekindle/ops/context.h"
#include "rekindle/ops/host/adamw.h"
#include "rekindle/runtime/site.h"
#include "rekindle/runtime/tensor.h"

namespace rekindle::ops {

using AdamWOptions = host::AdamWOptions;

// One parameter and what AdamW remembers of it: first and second moment. All
// f32 of one shape; the moments start as zeros.
struct AdamWTensors {
  Tensor parameter;
  Tensor m;
  Tensor v;
};

// Step number `step` (from 1 on) of AdamW, in place.
// Errors: the first error among the tensors; InvalidArgument if shapes differ.
// Whether the call itself ran shows at the next BeginStep().
absl::Status AdamWUpdate(Context& context, const AdamWOptions& options,
                         int64_t step, const Tensor& gradient,
                         const AdamWTensors& tensors,
                         Site site = Site::Current());

}  // namespace rekindle::ops
