// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/bias.h"

#include <utility>

#include "rekindle/ops/host/bias.h"
#include "rekindle/ops/operator.h"

namespace rekindle::ops {

Var AddBias(const Var& x, const Var& bias, Site site) {
  Operator op("add_bias", {{"x", x}, {"bias", bias}}, site);
  if (!op.Require(IsF32(x) && IsF32(bias), "both must be f32") ||
      !op.Require(x.rank() >= 1 && bias.rank() == 1, "bias must be a vector") ||
      !op.Require(x.dim(-1) == bias.dim(0), "last dimensions differ")) {
    return op.Failed();
  }
  const MatrixShape shape = RowsOf(x.spec());
  Tensor y = op.Call({.flops = Elements(shape)}, {x.spec()},
                     [threads = x.context().threads(), shape](KernelArgs& a) {
                       host::BiasAdd(threads, shape, a.input<float>(0),
                                     a.input<float>(1), a.output<float>(0));
                       return absl::OkStatus();
                     })[0];
  return op.Result(std::move(y), [shape](Gradients& g) {
    g.Add(0, g.dy());
    AddBiasGradient(g, 1, shape);
  });
}

void AddBiasGradient(Gradients& g, int i, MatrixShape shape) {
  if (!g.wants(i)) return;
  g.Add(i, g.Call("_dbias", {.flops = Elements(shape)}, {g.dy()},
                  {F32({shape.columns})},
                  [threads = g.context().threads(), shape](KernelArgs& a) {
                    host::BiasBackward(threads, shape, a.input<float>(0),
                                       a.output<float>(0));
                    return absl::OkStatus();
                  })[0]);
}

}  // namespace rekindle::ops
