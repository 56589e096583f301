// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rekindle/ops/shapes.h"
#include "rekindle/ops/tape.h"
#include "rekindle/ops/var.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// x + bias for every row. x f32 [.., n], bias f32 [n] -> [.., n].
Var AddBias(const Var& x, const Var& bias, Site site = Site::Current());

// Within a gradient function: the sum over the rows of dy, which has `shape`,
// is part of the gradient of input `i`, a bias [columns].
void AddBiasGradient(Gradients& g, int i, MatrixShape shape);

}  // namespace rekindle::ops
