// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rekindle/runtime/tensor.h"

namespace rekindle::ops {

// A tensor that training changes. A tape knows it by its address, so it must
// stay where it is from the first use of a step to the optimizer's update.
struct Parameter {
  std::string name;  // "block3/attention/qkv.weight"
  Tensor value;
  bool decay = false;  // Weight decay applies (matrices, not biases).
};

}  // namespace rekindle::ops
