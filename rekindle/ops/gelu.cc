// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/gelu.h"

#include <utility>

#include "rekindle/ops/host/gelu.h"
#include "rekindle/ops/operator.h"

namespace rekindle::ops {
namespace {

// Of an element; an exponential counts as 10.
constexpr double kForwardFlops = 18;
constexpr double kBackwardFlops = 30;

Tensor Gradient(Gradients& g, const Tensor& x) {
  const int64_t count = x.elements();
  return g.Call("_dx", {.flops = kBackwardFlops * static_cast<double>(count)},
                {x, g.dy()}, {x.spec()},
                [threads = g.context().threads(), count](KernelArgs& a) {
                  host::GeluBackward(threads, count, a.input<float>(0),
                                     a.input<float>(1), a.output<float>(0));
                  return absl::OkStatus();
                })[0];
}

}  // namespace

Var Gelu(const Var& x, Site site) {
  Operator op("gelu", {{"x", x}}, site);
  if (!op.Require(IsF32(x), "x must be f32")) return op.Failed();
  const int64_t count = x.spec().elements();
  Tensor y = op.Call(
      {.flops = kForwardFlops * static_cast<double>(count)}, {x.spec()},
      [threads = x.context().threads(), count](KernelArgs& a) {
        host::Gelu(threads, count, a.input<float>(0), a.output<float>(0));
        return absl::OkStatus();
      })[0];
  return op.Result(std::move(y), [x = x.value().Snapshot()](Gradients& g) {
    g.Add(0, Gradient(g, x));
  });
}

}  // namespace rekindle::ops
