// SPDX-License-Identifier: Apache-2.0
// Matrix products, by oneDNN.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/base/mutex.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

// Where the elements of a batch of matrices lie: element (row, column) of
// matrix (outer, inner) is at outer * this->outer + inner * this->inner +
// row * this->row + column * this->column, in elements.
struct MatrixStrides {
  int64_t row = 1;
  int64_t column = 1;
  int64_t outer = 0;
  int64_t inner = 0;

  friend constexpr auto operator<=>(const MatrixStrides&,
                                    const MatrixStrides&) = default;
};

// c = alpha * a b + beta * c, for outer_batch * inner_batch matrices:
// a [m, k], b [k, n] -> c [m, n]. A transposed operand is one with its row and
// column strides exchanged. Two batch dimensions, because heads of attention
// lie inside rows of a batch.
// REQUIRES: sizes at least 1; a, b: one of the strides row and column is 1; c:
// the column stride is 1.
struct MatMulShape {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  int64_t outer_batch = 1;
  int64_t inner_batch = 1;
  MatrixStrides a;
  MatrixStrides b;
  MatrixStrides c;
  float alpha = 1.0f;
  float beta = 0.0f;  // c is not read if it is 0.

  struct DenseOptions {
    bool transpose_a = false;  // a is stored as [k, m].
    bool transpose_b = false;  // b is stored as [n, k].
    int64_t batch = 1;
    float alpha = 1.0f;
    float beta = 0.0f;
  };
  // Contiguous, row-major operands.
  static MatMulShape Dense(int64_t m, int64_t n, int64_t k,
                           const DenseOptions& options);
  static MatMulShape Dense(int64_t m, int64_t n, int64_t k) {
    return Dense(m, n, k, DenseOptions());
  }

  friend constexpr auto operator<=>(const MatMulShape&,
                                    const MatMulShape&) = default;
};

// A product prepared for one shape and number of threads. Immutable, cheap to
// copy, thread-safe. Its result is a function of the operands' values: neither
// addresses (64-byte aligned), nor the calling thread, nor what else the
// process does can change a bit.
class MatMul {
 public:
  // Cost: up to milliseconds (oneDNN generates code): use a MatMulCache.
  // Errors: InvalidArgument for a shape that is not allowed, Internal from
  // oneDNN.
  static absl::StatusOr<MatMul> Create(const MatMulShape& shape,
                                       HostThreads threads);

  // Bytes that Run() needs as workspace; may be 0.
  size_t workspace_bytes() const;

  // The name of oneDNN's implementation, for people.
  const char* implementation() const;

  // REQUIRES: c does not overlap a or b; workspace is 64-byte aligned and
  // nobody else's until this returns.
  // Errors: Internal from oneDNN.
  absl::Status Run(const float* a, const float* b, float* c,
                   void* workspace) const;

 private:
  struct Impl;
  explicit MatMul(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  std::shared_ptr<const Impl> impl_;
};

// The products prepared so far, by shape and number of threads. Thread-safe.
class MatMulCache {
 public:
  // Errors: as MatMul::Create.
  absl::StatusOr<MatMul> Get(const MatMulShape& shape, HostThreads threads);

 private:
  Mutex mutex_;
  std::map<std::pair<MatMulShape, HostThreads>, MatMul> plans_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace rekindle::ops::host
