// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rekindle/ops/var.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// Layer normalization over the last dimension, times gamma, plus beta.
// x f32 [.., n], gamma [n], beta [n] -> [.., n]. The means and deviations that
// the gradient needs are further outputs of the same call.
Var LayerNorm(const Var& x, const Var& gamma, const Var& beta,
              float epsilon = 1e-5f, Site site = Site::Current());

}  // namespace rekindle::ops
