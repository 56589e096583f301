// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rekindle/ops/layer_norm.h"
#include "rekindle/ops/nn/initializer.h"
#include "rekindle/ops/var.h"

namespace rekindle::nn {

// Normalizes rows, then scales and shifts each channel: x [.., width].
class LayerNorm {
 public:
  LayerNorm(Initializer& initializer, const std::string& name, int64_t width)
      : gamma_(initializer.Filled(name + ".gamma", F32({width}), 1.0f)),
        beta_(initializer.Filled(name + ".beta", F32({width}), 0.0f)) {}

  ops::Var operator()(const ops::Var& x, Site site = Site::Current()) const {
    return ops::LayerNorm(x, x.Use(gamma_), x.Use(beta_), kEpsilon, site);
  }

  void AppendParameters(std::vector<Parameter*>& to) {
    to.insert(to.end(), {&gamma_, &beta_});
  }

 private:
  static constexpr float kEpsilon = 1e-5f;

  Parameter gamma_;
  Parameter beta_;
};

}  // namespace rekindle::nn
