// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/ops/context.h"
#include "rekindle/ops/parameter.h"
#include "rekindle/runtime/site.h"
#include "rekindle/runtime/tensor.h"

namespace rekindle::ops {

class Tape;

// What operators take and give: a tensor and, when a gradient through it may
// be asked for, its place on a tape. A value; copy it freely. One that could
// not be computed carries the first error, and so does all that is computed
// from it.
//
// A Var holds its tensor: let it go out of scope before Backward() to let the
// tensor go too. The context and the tape outlive it.
class Var {
 public:
  // Empty; its status is an error.
  Var() = default;
  // A value that is not recorded, nor is what is computed from such values.
  Var(Context& context, Tensor value)
      : context_(&context), value_(std::move(value)) {}

  // OK, or the first error on the way to this value.
  absl::Status status() const {
    return status_.ok() ? value_.status() : status_;
  }
  // The tensor; an empty one if an operator refused its arguments.
  const Tensor& value() const { return value_; }
  const Spec& spec() const { return value_.spec(); }
  const Shape& shape() const { return value_.shape(); }
  int rank() const { return static_cast<int>(value_.shape().size()); }
  // Dimension `i`; from the end if negative. REQUIRES: -rank() <= i < rank().
  int64_t dim(int i) const { return value_.dim(i < 0 ? i + rank() : i); }

  // Copies the value to host memory. Errors: status(), and as Tensor::ToHost.
  template <typename T>
  absl::StatusOr<std::vector<T>> ToHost(Site site = Site::Current()) const {
    if (!status_.ok()) return status_;
    return value_.ToHost<T>(site);
  }

  // `parameter` as an operand beside this one: on the same tape, if any. An
  // empty Var gives an empty one.
  Var Use(const Parameter& parameter) const;

  // Whether a gradient can flow through it.
  bool recorded() const { return node_ >= 0; }
  // REQUIRES: made from a context (not empty).
  Context& context() const { return *context_; }

 private:
  friend class NamedScope;
  friend class Tape;
  friend class Operator;

  Context* context_ = nullptr;
  Tape* tape_ = nullptr;
  int node_ = -1;  // On the tape; -1: no gradient flows.
  Tensor value_;
  absl::Status status_;
};

}  // namespace rekindle::ops
