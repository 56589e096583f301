// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rekindle/ops/matmul.h"
#include "rekindle/ops/nn/initializer.h"
#include "rekindle/ops/var.h"

namespace rekindle::nn {

// x w + bias: x [.., in] -> [.., out].
class Linear {
 public:
  // `deviation` is that of the initial weights.
  Linear(Initializer& initializer, const std::string& name, int64_t in,
         int64_t out, float deviation)
      : weight_(
            initializer.Normal(name + ".weight", F32({in, out}), deviation)),
        bias_(initializer.Filled(name + ".bias", F32({out}), 0.0f)) {}

  ops::Var operator()(const ops::Var& x, Site site = Site::Current()) const {
    return ops::Linear(x, x.Use(weight_), x.Use(bias_), site);
  }

  void AppendParameters(std::vector<Parameter*>& to) {
    to.insert(to.end(), {&weight_, &bias_});
  }

 private:
  Parameter weight_;
  Parameter bias_;
};

}  // namespace rekindle::nn
