// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/embedding.h"

#include <utility>
#include <vector>

#include "rekindle/ops/host/embedding.h"
#include "rekindle/ops/operator.h"

namespace rekindle::ops {
namespace {

Kernel ForwardKernel(host::HostThreads threads,
                     const host::EmbeddingShape& shape) {
  return [=](KernelArgs& a) {
    return host::Embedding(threads, shape, a.input<int32_t>(0),
                           a.input<float>(1), a.input<float>(2),
                           a.output<float>(0));
  };
}

// Inputs: tokens, dy.
Kernel BackwardKernel(host::HostThreads threads,
                      const host::EmbeddingShape& shape) {
  return [=](KernelArgs& a) {
    return host::EmbeddingBackward(threads, shape, a.input<int32_t>(0),
                                   a.input<float>(1), a.output<float>(0),
                                   a.output<float>(1));
  };
}

}  // namespace

Var Embedding(const Var& tokens, const Var& token_table,
              const Var& position_table, Site site) {
  Operator op("embedding",
              {{"tokens", tokens},
               {"token_table", token_table},
               {"position_table", position_table}},
              site);
  if (!op.Require(IsI32(tokens) && IsF32(token_table) && IsF32(position_table),
                  "tokens must be i32, tables f32") ||
      !op.Require(tokens.rank() == 2 && token_table.rank() == 2 &&
                      position_table.rank() == 2,
                  "matrices expected") ||
      !op.Require(token_table.dim(1) == position_table.dim(1),
                  "channels differ") ||
      !op.Require(tokens.dim(1) <= position_table.dim(0),
                  "more tokens than positions")) {
    return op.Failed();
  }
  const host::EmbeddingShape shape{.batch = tokens.dim(0),
                                   .time = tokens.dim(1),
                                   .channels = token_table.dim(1),
                                   .vocabulary = token_table.dim(0),
                                   .positions = position_table.dim(0)};
  const host::HostThreads threads = tokens.context().threads();
  const Spec y = F32({shape.batch, shape.time, shape.channels});
  // Only the rows looked up are read, not the whole tables.
  const double bytes = 3.0 * static_cast<double>(y.bytes());
  const double flops = static_cast<double>(y.elements());
  Tensor out = op.Call({.flops = flops, .bytes = bytes}, {y},
                       ForwardKernel(threads, shape))[0];
  return op.Result(
      std::move(out),
      [=, tokens = tokens.value().Snapshot(), token_spec = token_table.spec(),
       position_spec = position_table.spec()](Gradients& g) {
        std::vector<Tensor> tables =
            g.Call("_dtables", {.flops = 2 * flops}, {tokens, g.dy()},
                   {token_spec, position_spec}, BackwardKernel(threads, shape));
        g.Add(1, tables[0]);
        g.Add(2, tables[1]);
      });
}

}  // namespace rekindle::ops
