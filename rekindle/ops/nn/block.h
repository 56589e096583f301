// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rekindle/ops/nn/initializer.h"
#include "rekindle/ops/nn/layer_norm.h"
#include "rekindle/ops/nn/linear.h"
#include "rekindle/ops/var.h"
#include "rekindle/runtime/generator.h"

namespace rekindle::nn {

struct BlockOptions {
  int64_t width = 0;
  int heads = 1;  // Divides width.
  float dropout = 0;
  float deviation = 0.02f;           // Of initial weights.
  float residual_deviation = 0.02f;  // Of those that feed the residual sum.
};

// One transformer block with the norms in front: attention, then two linear
// layers with a GELU between, each added to its input. x [b, t, width] -> the
// same shape.
class Block {
 public:
  Block(Initializer& initializer, std::string name,
        const BlockOptions& options);

  // Drops out from `random` if it is not null.
  ops::Var operator()(const ops::Var& x, Generator* random) const;

  void AppendParameters(std::vector<Parameter*>& to);

 private:
  ops::Var Attend(const ops::Var& x, Generator* random) const;
  ops::Var Think(const ops::Var& x, Generator* random) const;

  std::string name_;
  int heads_;
  float dropout_;
  LayerNorm norm1_;
  Linear qkv_;
  Linear proj_;
  LayerNorm norm2_;
  Linear fc1_;
  Linear fc2_;
};

}  // namespace rekindle::nn
