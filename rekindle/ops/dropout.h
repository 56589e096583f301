// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rekindle/ops/var.h"
#include "rekindle/runtime/generator.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// Zeros each element with probability `rate`, scales the others by
// 1 / (1 - rate). x f32 of any shape -> the same shape. Without a generator,
// or at rate 0, gives x itself.
//
// The call takes one draw from the generator now. Its forward and its backward
// kernel both hold that draw by value and derive the same mask from it, however
// often either runs: no mask is kept, 16 bytes instead of one for each element.
Var Dropout(const Var& x, float rate, Generator* generator,
            Site site = Site::Current());

}  // namespace rekindle::ops
