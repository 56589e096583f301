// SPDX-License-Identifier: Apache-2.0
// Matrix products. All dimensions but the last of the left operand count as
// rows. f32; the workspace of the library is part of the call.
#pragma once

#include "rekindle/ops/var.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// a b. a [.., k], b [k, n] -> [.., n].
Var MatMul(const Var& a, const Var& b, Site site = Site::Current());

// a b^T. a [.., k], b [n, k] -> [.., n].
Var MatMulTransposed(const Var& a, const Var& b, Site site = Site::Current());

// x w + bias, in one call. x [.., k], w [k, n], bias [n] -> [.., n].
Var Linear(const Var& x, const Var& w, const Var& bias,
           Site site = Site::Current());

}  // namespace rekindle::ops
