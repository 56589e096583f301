// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/matmul.h"

#include <oneapi/dnnl/dnnl_version.h>

#include <dnnl.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"

namespace rekindle::ops::host {
namespace {

using Dims = dnnl::memory::dims;

absl::Status CheckShape(const MatMulShape& s) {
  if (s.m < 1 || s.n < 1 || s.k < 1 || s.outer_batch < 1 || s.inner_batch < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "matmul of sizes m=", s.m, " n=", s.n, " k=", s.k,
        " batch=", s.outer_batch, "x", s.inner_batch, ": all must be >= 1"));
  }
  if ((s.a.row != 1 && s.a.column != 1) || (s.b.row != 1 && s.b.column != 1) ||
      s.c.column != 1) {
    return absl::InvalidArgumentError(
        "matmul of a matrix without a contiguous dimension");
  }
  return absl::OkStatus();
}

// How the two batch dimensions are shown to oneDNN, which is quickest with
// few dimensions.
enum class Batch { kNone, kOuter, kInner, kMerged, kBoth };

Batch BatchOf(const MatMulShape& s) {
  if (s.outer_batch == 1 && s.inner_batch == 1) return Batch::kNone;
  if (s.inner_batch == 1) return Batch::kOuter;
  if (s.outer_batch == 1) return Batch::kInner;
  const auto mergeable = [&](const MatrixStrides& strides) {
    return strides.outer == strides.inner * s.inner_batch;
  };
  const bool merged = mergeable(s.a) && mergeable(s.b) && mergeable(s.c);
  return merged ? Batch::kMerged : Batch::kBoth;
}

dnnl::memory::desc Describe(const MatMulShape& s, int64_t rows, int64_t columns,
                            const MatrixStrides& strides) {
  Dims dims, steps;
  switch (BatchOf(s)) {
    case Batch::kNone:
      break;
    case Batch::kOuter:
      dims = {s.outer_batch}, steps = {strides.outer};
      break;
    case Batch::kInner:
      dims = {s.inner_batch}, steps = {strides.inner};
      break;
    case Batch::kMerged:
      dims = {s.outer_batch * s.inner_batch}, steps = {strides.inner};
      break;
    case Batch::kBoth:
      dims = {s.outer_batch, s.inner_batch};
      steps = {strides.outer, strides.inner};
      break;
  }
  dims.insert(dims.end(), {rows, columns});
  steps.insert(steps.end(), {strides.row, strides.column});
  return {dims, dnnl::memory::data_type::f32, steps};
}

dnnl::primitive_attr Attributes(const MatMulShape& s) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  // Else an environment variable of oneDNN could choose bfloat16.
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  dnnl::post_ops post_ops;
  if (s.alpha != 1.0f) {
    constexpr auto kLinear = dnnl::algorithm::eltwise_linear;
#if DNNL_VERSION_MAJOR >= 3
    post_ops.append_eltwise(kLinear, s.alpha, 0.0f);
#else
    post_ops.append_eltwise(1.0f, kLinear, s.alpha, 0.0f);
#endif
  }
  if (s.beta != 0.0f) post_ops.append_sum(s.beta);
  attributes.set_post_ops(post_ops);
  return attributes;
}

dnnl::matmul::primitive_desc PrimitiveDesc(const MatMulShape& s,
                                           const dnnl::engine& engine) {
  const dnnl::memory::desc a = Describe(s, s.m, s.k, s.a);
  const dnnl::memory::desc b = Describe(s, s.k, s.n, s.b);
  const dnnl::memory::desc c = Describe(s, s.m, s.n, s.c);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c, Attributes(s)};
#else
  return {dnnl::matmul::desc(a, b, c), Attributes(s), engine};
#endif
}

absl::Status StatusOf(const dnnl::error& error) {
  const std::string text = absl::StrCat("oneDNN: ", error.what());
  switch (error.status) {
    case dnnl_unimplemented:
      return absl::UnimplementedError(text);
    case dnnl_out_of_memory:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::InternalError(text);
  }
}

}  // namespace

MatMulShape MatMulShape::Dense(int64_t m, int64_t n, int64_t k,
                               const DenseOptions& options) {
  const auto strides = [](int64_t rows, int64_t columns, bool transposed) {
    MatrixStrides s{.row = columns, .column = 1, .outer = rows * columns};
    if (transposed) s.row = 1, s.column = rows;
    return s;
  };
  return {.m = m,
          .n = n,
          .k = k,
          .outer_batch = options.batch,
          .a = strides(m, k, options.transpose_a),
          .b = strides(k, n, options.transpose_b),
          .c = strides(m, n, false),
          .alpha = options.alpha,
          .beta = options.beta};
}

struct MatMul::Impl {
  Impl(const MatMulShape& shape, HostThreads host_threads)
      : threads(host_threads),
        engine(dnnl::engine::kind::cpu, 0),
        desc(PrimitiveDesc(shape, engine)),
        a(desc.src_desc()),
        b(desc.weights_desc()),
        c(desc.dst_desc()),
        workspace(desc.scratchpad_desc()),
        primitive(desc) {}

  HostThreads threads;
  dnnl::engine engine;
  dnnl::matmul::primitive_desc desc;
  dnnl::memory::desc a, b, c, workspace;
  dnnl::matmul primitive;
};

absl::StatusOr<MatMul> MatMul::Create(const MatMulShape& shape,
                                      HostThreads threads) {
  RK_RETURN_IF_ERROR(CheckShape(shape));
  // oneDNN divides the work when it makes the primitive.
  const ScopedOpenMpThreads scoped(threads);
  try {
    return MatMul(std::make_shared<const Impl>(shape, threads));
  } catch (const dnnl::error& error) {
    return StatusOf(error);
  }
}

size_t MatMul::workspace_bytes() const { return impl_->workspace.get_size(); }

const char* MatMul::implementation() const {
  return impl_->desc.impl_info_str();
}

absl::Status MatMul::Run(const float* a, const float* b, float* c,
                         void* workspace) const {
  const ScopedOpenMpThreads scoped(impl_->threads);
  const dnnl::engine& engine = impl_->engine;
  try {
    dnnl::stream stream(engine);
    impl_->primitive.execute(
        stream, {{DNNL_ARG_SRC, {impl_->a, engine, const_cast<float*>(a)}},
                 {DNNL_ARG_WEIGHTS, {impl_->b, engine, const_cast<float*>(b)}},
                 {DNNL_ARG_DST, {impl_->c, engine, c}},
                 {DNNL_ARG_SCRATCHPAD, {impl_->workspace, engine, workspace}}});
    stream.wait();
  } catch (const dnnl::error& error) {
    return StatusOf(error);
  }
  return absl::OkStatus();
}

absl::StatusOr<MatMul> MatMulCache::Get(const MatMulShape& shape,
                                        HostThreads threads) {
  MutexLock lock(mutex_);
  const std::pair key(shape, threads);
  if (const auto found = plans_.find(key); found != plans_.end()) {
    return found->second;
  }
  RK_ASSIGN_OR_RETURN(MatMul plan, MatMul::Create(shape, threads));
  plans_.emplace(key, plan);
  return plan;
}

}  // namespace rekindle::ops::host
