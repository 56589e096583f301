// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/nn/initializer.h"

#include <utility>
#include <vector>

#include "rekindle/ops/host/random_fill.h"

namespace rekindle::nn {

Parameter Initializer::Make(std::string name, const Spec& spec,
                            const float* values, bool decay) {
  Tensor value = context_.runtime().Constant(
      spec, values, {.name = name, .kind = Kind::kParameter});
  return {std::move(name), std::move(value), decay};
}

Parameter Initializer::Normal(std::string name, const Spec& spec,
                              float deviation) {
  std::vector<float> values(static_cast<size_t>(spec.elements()));
  ops::host::FillNormal(context_.threads(), spec.elements(), generator_.Next(),
                        0.0f, deviation, values.data());
  return Make(std::move(name), spec, values.data(), true);
}

Parameter Initializer::Filled(std::string name, const Spec& spec, float value) {
  const std::vector<float> values(static_cast<size_t>(spec.elements()), value);
  return Make(std::move(name), spec, values.data(), false);
}

}  // namespace rekindle::nn
