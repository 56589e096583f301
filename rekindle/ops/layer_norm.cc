// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/layer_norm.h"

#include <utility>
#include <vector>

#include "rekindle/ops/host/layer_norm.h"
#include "rekindle/ops/operator.h"
#include "rekindle/ops/shapes.h"

namespace rekindle::ops {
namespace {

// Of an element, by counting; only ratios between operators matter.
constexpr double kForwardFlops = 8;
constexpr double kBackwardFlops = 16;

Kernel ForwardKernel(host::HostThreads threads, MatrixShape shape,
                     float epsilon) {
  return [=](KernelArgs& a) {
    host::LayerNorm(threads, shape,
                    {.epsilon = epsilon,
                     .x = a.input<float>(0),
                     .gamma = a.input<float>(1),
                     .beta = a.input<float>(2),
                     .y = a.output<float>(0),
                     .mean = a.output<float>(1),
                     .rstd = a.output<float>(2)});
    return absl::OkStatus();
  };
}

// Inputs: x, gamma, mean, rstd, dy.
Kernel BackwardKernel(host::HostThreads threads, MatrixShape shape) {
  return [=](KernelArgs& a) {
    host::LayerNormBackward(threads, shape,
                            {.x = a.input<float>(0),
                             .gamma = a.input<float>(1),
                             .mean = a.input<float>(2),
                             .rstd = a.input<float>(3),
                             .dy = a.input<float>(4),
                             .dx = a.output<float>(0),
                             .dgamma = a.output<float>(1),
                             .dbeta = a.output<float>(2)});
    return absl::OkStatus();
  };
}

}  // namespace

Var LayerNorm(const Var& x, const Var& gamma, const Var& beta, float epsilon,
              Site site) {
  Operator op("layer_norm", {{"x", x}, {"gamma", gamma}, {"beta", beta}}, site);
  if (!op.Require(IsF32(x) && IsF32(gamma) && IsF32(beta), "all must be f32") ||
      !op.Require(x.rank() >= 1 && gamma.rank() == 1 && beta.rank() == 1,
                  "gamma and beta must be vectors") ||
      !op.Require(x.dim(-1) == gamma.dim(0) && x.dim(-1) == beta.dim(0),
                  "last dimensions differ")) {
    return op.Failed();
  }
  const MatrixShape shape = RowsOf(x.spec());
  const host::HostThreads threads = x.context().threads();
  const Spec x_spec = x.spec();
  const Spec vector = gamma.spec();
  std::vector<Tensor> out =
      op.Call({.flops = kForwardFlops * Elements(shape)},
              {x_spec, F32({shape.rows}), F32({shape.rows})},
              ForwardKernel(threads, shape, epsilon));
  return op.Result(
      out[0], [=, x = x.value().Snapshot(), gamma = gamma.value().Snapshot(),
               mean = out[1], rstd = out[2]](Gradients& g) {
        std::vector<Tensor> gradients =
            g.Call("_dx", {.flops = kBackwardFlops * Elements(shape)},
                   {x, gamma, mean, rstd, g.dy()}, {x_spec, vector, vector},
                   BackwardKernel(threads, shape));
        for (int i = 0; i < 3; ++i) g.Add(i, gradients[static_cast<size_t>(i)]);
      });
}

}  // namespace rekindle::ops
