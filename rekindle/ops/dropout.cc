// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/dropout.h"

#include <utility>

#include "rekindle/ops/host/dropout.h"
#include "rekindle/ops/operator.h"

namespace rekindle::ops {
namespace {

// Of an element: a quarter of ten Philox rounds.
constexpr double kFlops = 30;

Kernel DropoutKernel(host::HostThreads threads, int64_t count, float rate,
                     PhiloxDraw draw) {
  return [=](KernelArgs& a) {
    host::Dropout(threads, count, rate, draw, a.input<float>(0),
                  a.output<float>(0));
    return absl::OkStatus();
  };
}

}  // namespace

Var Dropout(const Var& x, float rate, Generator* generator, Site site) {
  Operator op("dropout", {{"x", x}}, site);
  if (!op.Require(IsF32(x), "x must be f32") ||
      !op.Require(rate >= 0 && rate < 1, "rate must be in [0, 1)")) {
    return op.Failed();
  }
  if (generator == nullptr || rate == 0) return x;
  const PhiloxDraw draw = generator->Next();
  const int64_t count = x.spec().elements();
  const host::HostThreads threads = x.context().threads();
  const Spec spec = x.spec();
  const double flops = kFlops * static_cast<double>(count);
  Tensor y = op.Call({.flops = flops}, {spec},
                     DropoutKernel(threads, count, rate, draw))[0];
  return op.Result(std::move(y), [=](Gradients& g) {
    g.Add(0, g.Call("_dx", {.flops = flops}, {g.dy()}, {spec},
                    DropoutKernel(threads, count, rate, draw))[0]);
  });
}

}  // namespace rekindle::ops
