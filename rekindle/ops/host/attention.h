// SPDX-License-Identifier: Apache-2.0
// Causal multi-head attention that keeps its probabilities. Source: Vaswani
// et al., "Attention is all you need", 2017, equation 1, with a causal mask:
//   probs = softmax(q k^T / sqrt(head_dim), over keys not after the query),
//   out = probs v.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/ops/host/matmul.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

struct AttentionShape {
  int64_t batch = 1;
  int64_t time = 1;
  int64_t heads = 1;
  int64_t head_dim = 1;

  constexpr int64_t channels() const { return heads * head_dim; }

  friend constexpr auto operator<=>(const AttentionShape&,
                                    const AttentionShape&) = default;
};

// Attention prepared for one shape and number of threads. Immutable, cheap to
// copy, thread-safe; its results are as reproducible as MatMul's.
//
// Shapes: qkv [batch, time, 3, heads, head_dim] (query, key, value),
// out [batch, time, heads, head_dim], probs [batch, heads, time, time], zero
// above the diagonal. Gradients have the shapes of their values.
class Attention {
 public:
  // Cost and errors: as MatMul::Create, for each of its products; `cache` keeps
  // them.
  static absl::StatusOr<Attention> Create(const AttentionShape& shape,
                                          HostThreads threads,
                                          MatMulCache& cache);

  size_t forward_workspace_bytes() const;
  // probs' size and a little more.
  size_t backward_workspace_bytes() const;

  // qkv -> out, probs.
  // REQUIRES: workspace as for MatMul::Run.
  absl::Status Forward(const float* qkv, float* out, float* probs,
                       void* workspace) const;

  // qkv, probs (as Forward wrote it), dout -> dqkv, all of it written.
  // REQUIRES: workspace as for MatMul::Run.
  absl::Status Backward(const float* qkv, const float* probs, const float* dout,
                        float* dqkv, void* workspace) const;

 private:
  struct Impl;
  explicit Attention(std::shared_ptr<const Impl> impl)
      : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

}  // namespace rekindle::ops::host
