// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/attention.h"

#include <utility>
#include <vector>

#include "rekindle/ops/host/attention.h"
#include "rekindle/ops/operator.h"

namespace rekindle::ops {
namespace {

using host::AttentionShape;

Spec ProbabilitiesOf(const AttentionShape& s) {
  return F32({s.batch, s.heads, s.time, s.time});
}

// Two products forward, four backward, and the softmax.
CallOptions OptionsOf(const AttentionShape& s, int products, size_t workspace) {
  constexpr double kSoftmaxFlops = 14;
  const double pairs = static_cast<double>(ProbabilitiesOf(s).elements());
  CallOptions options;
  options.flops = pairs * (2.0 * products * static_cast<double>(s.head_dim) +
                           kSoftmaxFlops);
  options.workspace_bytes = workspace;
  return options;
}

Kernel ForwardKernel(host::Attention plan) {
  return [plan = std::move(plan)](KernelArgs& a) {
    return plan.Forward(a.input<float>(0), a.output<float>(0),
                        a.output<float>(1), a.workspace());
  };
}

Kernel BackwardKernel(host::Attention plan) {
  return [plan = std::move(plan)](KernelArgs& a) {
    return plan.Backward(a.input<float>(0), a.input<float>(1),
                         a.input<float>(2), a.output<float>(0), a.workspace());
  };
}

}  // namespace

Var CausalAttention(const Var& qkv, int heads, Site site) {
  Operator op("attention", {{"qkv", qkv}}, site);
  if (!op.Require(IsF32(qkv), "qkv must be f32") ||
      !op.Require(qkv.rank() == 3, "qkv [b, t, 3 c] expected") ||
      !op.Require(heads > 0 && qkv.dim(2) % (3 * heads) == 0,
                  "the last dimension must be a multiple of 3 x heads")) {
    return op.Failed();
  }
  const AttentionShape shape{qkv.dim(0), qkv.dim(1), heads,
                             qkv.dim(2) / (3 * heads)};
  Context& context = qkv.context();
  absl::StatusOr<host::Attention> plan =
      host::Attention::Create(shape, context.threads(), context.matmuls());
  if (!op.Require(plan.status())) return op.Failed();
  std::vector<Tensor> out =
      op.Call(OptionsOf(shape, 2, plan->forward_workspace_bytes()),
              {F32({shape.batch, shape.time, shape.channels()}),
               ProbabilitiesOf(shape)},
              ForwardKernel(*plan));
  return op.Result(out[0], [shape, plan = *std::move(plan),
                            qkv = qkv.value().Snapshot(),
                            probs = out[1]](Gradients& g) {
    g.Add(0,
          g.Call("_dqkv", OptionsOf(shape, 4, plan.backward_workspace_bytes()),
                 {qkv, probs, g.dy()}, {qkv.spec()}, BackwardKernel(plan))[0]);
  });
}

}  // namespace rekindle::ops
