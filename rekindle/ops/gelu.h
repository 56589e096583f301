// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rekindle/ops/var.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// Gaussian error linear unit, in its tanh form, of each element. x f32 of any
// shape -> the same shape.
Var Gelu(const Var& x, Site site = Site::Current());

}  // namespace rekindle::ops
