// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/elementwise.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/ops/host/elementwise.h"
#include "rekindle/ops/operator.h"

namespace rekindle::ops {
namespace {

Kernel ScaleKernel(host::HostThreads threads, int64_t count, float factor) {
  return [=](KernelArgs& a) {
    host::Scale(threads, count, factor, a.input<float>(0), a.output<float>(0));
    return absl::OkStatus();
  };
}

}  // namespace

Var Add(const Var& a, const Var& b, Site site) {
  Operator op("add", {{"a", a}, {"b", b}}, site);
  if (!op.Require(IsF32(a) && IsF32(b), "both must be f32") ||
      !op.Require(a.shape() == b.shape(), "shapes differ")) {
    return op.Failed();
  }
  const int64_t count = a.spec().elements();
  Tensor sum = op.Call({.flops = static_cast<double>(count)}, {a.spec()},
                       [threads = a.context().threads(), count](KernelArgs& k) {
                         host::Add(threads, count, k.input<float>(0),
                                   k.input<float>(1), k.output<float>(0));
                         return absl::OkStatus();
                       })[0];
  return op.Result(std::move(sum), [](Gradients& g) {
    g.Add(0, g.dy());
    g.Add(1, g.dy());
  });
}

Var Scale(const Var& x, float factor, Site site) {
  Operator op("scale", {{"x", x}}, site);
  if (!op.Require(IsF32(x), "x must be f32")) return op.Failed();
  const Spec spec = x.spec();
  const host::HostThreads threads = x.context().threads();
  const double flops = static_cast<double>(spec.elements());
  Tensor y = op.Call({.flops = flops}, {spec},
                     ScaleKernel(threads, spec.elements(), factor))[0];
  return op.Result(std::move(y), [=](Gradients& g) {
    g.Add(0, g.Call("_dx", {.flops = flops}, {g.dy()}, {spec},
                    ScaleKernel(threads, spec.elements(), factor))[0]);
  });
}

Var Reshape(const Var& x, const Shape& shape, Site site) {
  Operator op("reshape", {{"x", x}}, site);
  const Spec to{x.spec().dtype, shape};
  if (!op.Require(
          to.elements() == x.spec().elements(),
          absl::StrCat("as many elements expected as in ", ToString(to)))) {
    return op.Failed();
  }
  return op.Result(x.value().Reshape(shape), [from = x.shape()](Gradients& g) {
    g.Add(0, g.dy().Reshape(from));
  });
}

}  // namespace rekindle::ops
