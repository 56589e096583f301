// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rekindle/ops/var.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// Mean over the rows of the cross-entropy between softmax(logits) and the
// target class, in nats. logits f32 [.., n], targets i32 [..] -> scalar.
// Errors, besides shapes: InvalidArgument for a target outside [0, n).
Var SoftmaxCrossEntropy(const Var& logits, const Var& targets,
                        Site site = Site::Current());

}  // namespace rekindle::ops
