// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/nn/block.h"

#include <utility>

#include "rekindle/ops/attention.h"
#include "rekindle/ops/dropout.h"
#include "rekindle/ops/elementwise.h"
#include "rekindle/ops/gelu.h"
#include "rekindle/ops/named_scope.h"

namespace rekindle::nn {

using ops::NamedScope;
using ops::Var;

Block::Block(Initializer& initializer, std::string name,
             const BlockOptions& options)
    : name_(std::move(name)),
      heads_(options.heads),
      dropout_(options.dropout),
      norm1_(initializer, name_ + "/attention/norm", options.width),
      qkv_(initializer, name_ + "/attention/qkv", options.width,
           3 * options.width, options.deviation),
      proj_(initializer, name_ + "/attention/proj", options.width,
            options.width, options.residual_deviation),
      norm2_(initializer, name_ + "/mlp/norm", options.width),
      fc1_(initializer, name_ + "/mlp/fc1", options.width, 4 * options.width,
           options.deviation),
      fc2_(initializer, name_ + "/mlp/fc2", 4 * options.width, options.width,
           options.residual_deviation) {}

Var Block::operator()(const Var& x, Generator* random) const {
  NamedScope scope(x, name_);
  return Think(Attend(x, random), random);
}

Var Block::Attend(const Var& x, Generator* random) const {
  NamedScope scope(x, "attention");
  const Var y = proj_(CausalAttention(qkv_(norm1_(x)), heads_));
  return x + Dropout(y, dropout_, random);
}

Var Block::Think(const Var& x, Generator* random) const {
  NamedScope scope(x, "mlp");
  const Var y = fc2_(Gelu(fc1_(norm2_(x))));
  return x + Dropout(y, dropout_, random);
}

void Block::AppendParameters(std::vector<Parameter*>& to) {
  norm1_.AppendParameters(to);
  qkv_.AppendParameters(to);
  proj_.AppendParameters(to);
  norm2_.AppendParameters(to);
  fc1_.AppendParameters(to);
  fc2_.AppendParameters(to);
}

}  // namespace rekindle::nn
