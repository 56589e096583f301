// SPDX-License-Identifier: Apache-2.0
// Sums and shapes.
#pragma once

#include "rekindle/ops/var.h"
#include "rekindle/runtime/site.h"
#include "rekindle/runtime/spec.h"

namespace rekindle::ops {

// a + b. a, b f32 of one shape -> the same shape.
Var Add(const Var& a, const Var& b, Site site = Site::Current());
// Lets an operator's default argument know where the operator was used.
struct VarAt {
  VarAt(const Var& v, Site s = Site::Current()) : var(v), site(s) {}  // NOLINT
  const Var& var;
  Site site;
};
inline Var operator+(const Var& a, VarAt b) { return Add(a, b.var, b.site); }

// factor * x, any shape.
Var Scale(const Var& x, float factor, Site site = Site::Current());

// The same elements under another shape; moves nothing.
Var Reshape(const Var& x, const Shape& shape, Site site = Site::Current());

}  // namespace rekindle::ops
