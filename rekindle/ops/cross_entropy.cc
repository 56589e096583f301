// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/cross_entropy.h"

#include <utility>
#include <vector>

#include "rekindle/ops/host/cross_entropy.h"
#include "rekindle/ops/operator.h"
#include "rekindle/ops/shapes.h"

namespace rekindle::ops {
namespace {

constexpr double kFlops = 14;  // Of an element; an exponential counts as 10.

Kernel ForwardKernel(host::HostThreads threads, MatrixShape shape) {
  return [=](KernelArgs& a) {
    return host::CrossEntropy(threads, shape, a.input<float>(0),
                              a.input<int32_t>(1), a.output<float>(0),
                              a.output<float>(1));
  };
}

// Inputs: logits, targets, logsumexp, dloss.
Kernel BackwardKernel(host::HostThreads threads, MatrixShape shape) {
  return [=](KernelArgs& a) {
    return host::CrossEntropyBackward(threads, shape, a.input<float>(0),
                                      a.input<int32_t>(1), a.input<float>(2),
                                      a.input<float>(3), a.output<float>(0));
  };
}

}  // namespace

Var SoftmaxCrossEntropy(const Var& logits, const Var& targets, Site site) {
  Operator op("cross_entropy", {{"logits", logits}, {"targets", targets}},
              site);
  if (!op.Require(IsF32(logits) && IsI32(targets),
                  "logits must be f32, targets i32") ||
      !op.Require(logits.rank() >= 1, "logits [.., n] expected") ||
      !op.Require(targets.spec().elements() == RowsOf(logits.spec()).rows,
                  "one target for each row expected")) {
    return op.Failed();
  }
  const MatrixShape shape = RowsOf(logits.spec());
  const host::HostThreads threads = logits.context().threads();
  const double flops = kFlops * Elements(shape);
  std::vector<Tensor> out =
      op.Call({.flops = flops}, {F32({}), F32({shape.rows})},
              ForwardKernel(threads, shape));
  return op.Result(out[0], [=, logits = logits.value().Snapshot(),
                            targets = targets.value().Snapshot(),
                            logsumexp = out[1]](Gradients& g) {
    g.Add(0, g.Call("_dlogits", {.flops = flops},
                    {logits, targets, logsumexp, g.dy()}, {logits.spec()},
                    BackwardKernel(threads, shape))[0]);
  });
}

}  // namespace rekindle::ops
