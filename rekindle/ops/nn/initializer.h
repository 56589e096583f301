// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "rekindle/ops/context.h"
#include "rekindle/ops/parameter.h"
#include "rekindle/runtime/generator.h"
#include "rekindle/runtime/spec.h"

namespace rekindle::nn {

using ops::Context;
using ops::Parameter;

// Makes parameters. The same seed and the same order of calls give the same
// numbers. A parameter that the budget cannot hold carries the error.
class Initializer {
 public:
  Initializer(Context& context, uint64_t seed)
      : context_(context), generator_(seed) {}

  // A matrix, subject to weight decay, of normal numbers around 0.
  Parameter Normal(std::string name, const Spec& spec, float deviation);
  // A vector of `value`, not subject to weight decay.
  Parameter Filled(std::string name, const Spec& spec, float value);

 private:
  Parameter Make(std::string name, const Spec& spec, const float* values,
                 bool decay);

  Context& context_;
  Generator generator_;
};

}  // namespace rekindle::nn
