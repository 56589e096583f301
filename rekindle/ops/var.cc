// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/var.h"

#include "rekindle/ops/tape.h"

namespace rekindle::ops {

Var Var::Use(const Parameter& parameter) const {
  if (tape_ != nullptr) return tape_->Watch(parameter);
  if (context_ == nullptr) return *this;
  return Var(*context_, parameter.value);
}

}  // namespace rekindle::ops
