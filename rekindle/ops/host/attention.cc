// SPDX-License-Identifier: Apache-2.0
// The [time, time] products are cut into bands of queries, and each band stops
// at its last key, so that long sequences skip the masked half. Heads are read
// and written where they lie in qkv and out: nothing is packed.
#include "rekindle/ops/host/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/ops/host/softmax.h"

namespace rekindle::ops::host {
namespace {

constexpr int64_t kBand = 64;

// Products of the band of positions [begin, end).
struct Band {
  int64_t begin;
  MatMul scores;  // q[begin:end] k[0:end]^T
  MatMul values;  // probs[begin:end, 0:end] v[0:end]
  MatMul dprobs;  // dout[begin:end] v[0:end]^T
  MatMul dq;      // dscores[begin:end, 0:end] k[0:end]
  MatMul dk;      // dscores[begin:time, begin:end]^T q[begin:time]
  MatMul dv;      // probs[begin:time, begin:end]^T dout[begin:time]
};

MatrixStrides Transposed(MatrixStrides strides) {
  std::swap(strides.row, strides.column);
  return strides;
}

// Makes the products of one shape.
class Products {
 public:
  Products(const AttentionShape& shape, HostThreads threads, MatMulCache& cache)
      : shape_(shape), threads_(threads), cache_(cache) {}

  absl::StatusOr<Band> Make(int64_t begin, int64_t end) const {
    const int64_t rows = end - begin, after = shape_.time - begin;
    const int64_t dim = shape_.head_dim;
    const MatrixStrides qkv = Heads(3), out = Heads(1), square = Square();
    RK_ASSIGN_OR_RETURN(MatMul scores,
                        Get(rows, end, dim, qkv, Transposed(qkv), square));
    RK_ASSIGN_OR_RETURN(MatMul values, Get(rows, dim, end, square, qkv, out));
    RK_ASSIGN_OR_RETURN(MatMul dprobs,
                        Get(rows, end, dim, out, Transposed(qkv), square));
    RK_ASSIGN_OR_RETURN(MatMul dq, Get(rows, dim, end, square, qkv, qkv));
    RK_ASSIGN_OR_RETURN(MatMul dk,
                        Get(rows, dim, after, Transposed(square), qkv, qkv));
    RK_ASSIGN_OR_RETURN(MatMul dv,
                        Get(rows, dim, after, Transposed(square), out, qkv));
    return Band{begin, scores, values, dprobs, dq, dk, dv};
  }

 private:
  // [time, head_dim] of each head, in rows of `parts` * channels.
  MatrixStrides Heads(int64_t parts) const {
    const int64_t row = parts * shape_.channels();
    return {row, 1, shape_.time * row, shape_.head_dim};
  }

  // [time, time] of each head.
  MatrixStrides Square() const {
    const int64_t time = shape_.time;
    return {time, 1, shape_.heads * time * time, time * time};
  }

  absl::StatusOr<MatMul> Get(int64_t m, int64_t n, int64_t k,
                             const MatrixStrides& a, const MatrixStrides& b,
                             const MatrixStrides& c) const {
    return cache_.Get({.m = m,
                       .n = n,
                       .k = k,
                       .outer_batch = shape_.batch,
                       .inner_batch = shape_.heads,
                       .a = a,
                       .b = b,
                       .c = c},
                      threads_);
  }

  const AttentionShape& shape_;
  HostThreads threads_;
  MatMulCache& cache_;
};

}  // namespace

struct Attention::Impl {
  AttentionShape shape;
  HostThreads threads;
  std::vector<Band> bands;

  int64_t matrices() const { return shape.batch * shape.heads; }
  float scale() const {
    return 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
  }
  size_t dscores_bytes() const {
    const int64_t count = matrices() * shape.time * shape.time;
    return RoundUp(static_cast<size_t>(count) * sizeof(float), 64);
  }
};

absl::StatusOr<Attention> Attention::Create(const AttentionShape& shape,
                                            HostThreads threads,
                                            MatMulCache& cache) {
  if (shape.batch < 1 || shape.time < 1 || shape.heads < 1 ||
      shape.head_dim < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attention of sizes batch=", shape.batch,
                     " time=", shape.time, " heads=", shape.heads,
                     " head_dim=", shape.head_dim, ": all must be >= 1"));
  }
  Impl impl{shape, threads, {}};
  const Products products(shape, threads, cache);
  for (int64_t begin = 0; begin < shape.time; begin += kBand) {
    RK_ASSIGN_OR_RETURN(
        Band band, products.Make(begin, std::min(shape.time, begin + kBand)));
    impl.bands.push_back(std::move(band));
  }
  return Attention(std::make_shared<const Impl>(std::move(impl)));
}

size_t Attention::forward_workspace_bytes() const {
  size_t bytes = 0;
  for (const Band& band : impl_->bands) {
    bytes = std::max(
        {bytes, band.scores.workspace_bytes(), band.values.workspace_bytes()});
  }
  return bytes;
}

size_t Attention::backward_workspace_bytes() const {
  size_t bytes = 0;
  for (const Band& band : impl_->bands) {
    bytes = std::max({bytes, band.dprobs.workspace_bytes(),
                      band.dq.workspace_bytes(), band.dk.workspace_bytes(),
                      band.dv.workspace_bytes()});
  }
  return impl_->dscores_bytes() + bytes;
}

absl::Status Attention::Forward(const float* qkv, float* out, float* probs,
                                void* workspace) const {
  const int64_t time = impl_->shape.time, channels = impl_->shape.channels();
  const float *const q = qkv, *const k = q + channels, *const v = k + channels;
  for (const Band& band : impl_->bands) {
    RK_RETURN_IF_ERROR(band.scores.Run(q + band.begin * 3 * channels, k,
                                       probs + band.begin * time, workspace));
  }
  CausalSoftmax(impl_->threads, impl_->matrices(), time, impl_->scale(), probs,
                probs);
  for (const Band& band : impl_->bands) {
    RK_RETURN_IF_ERROR(band.values.Run(probs + band.begin * time, v,
                                       out + band.begin * channels, workspace));
  }
  return absl::OkStatus();
}

absl::Status Attention::Backward(const float* qkv, const float* probs,
                                 const float* dout, float* dqkv,
                                 void* workspace) const {
  const int64_t time = impl_->shape.time, channels = impl_->shape.channels();
  const float *const q = qkv, *const k = q + channels, *const v = k + channels;
  float *const dq = dqkv, *const dk = dq + channels, *const dv = dk + channels;
  float* const dscores = static_cast<float*>(workspace);
  void* const rest = static_cast<char*>(workspace) + impl_->dscores_bytes();
  for (const Band& band : impl_->bands) {
    RK_RETURN_IF_ERROR(band.dprobs.Run(dout + band.begin * channels, v,
                                       dscores + band.begin * time, rest));
  }
  CausalSoftmaxBackward(impl_->threads, impl_->matrices(), time, impl_->scale(),
                        probs, dscores, dscores);
  for (const Band& band : impl_->bands) {
    const int64_t row = band.begin * 3 * channels;
    const int64_t diagonal = band.begin * time + band.begin;
    RK_RETURN_IF_ERROR(
        band.dq.Run(dscores + band.begin * time, k, dq + row, rest));
    RK_RETURN_IF_ERROR(
        band.dk.Run(dscores + diagonal, q + row, dk + row, rest));
    RK_RETURN_IF_ERROR(band.dv.Run(
        probs + diagonal, dout + band.begin * channels, dv + row, rest));
  }
  return absl::OkStatus();
}

}  // namespace rekindle::ops::host
