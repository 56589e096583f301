// SPDX-License-Identifier: Apache-2.0
#include "rekindle/c/handles.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/c/status.h"

namespace rekindle::c {

absl::StatusOr<Shape> ShapeOf(int rank, const int64_t* shape,
                              absl::string_view what) {
  if (rank < 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": a rank of ", rank));
  }
  if (rank > 0) {
    RK_RETURN_IF_ERROR(NotNull(shape, absl::StrCat(what, ": the shape")));
  }
  return Shape(shape, shape + rank);
}

absl::StatusOr<Spec> SpecOf(const rk_spec* spec, absl::string_view what) {
  RK_RETURN_IF_ERROR(NotNull(spec, what));
  Spec result;
  switch (spec->dtype) {
    case RK_F32:
      result.dtype = DType::kF32;
      break;
    case RK_I32:
      result.dtype = DType::kI32;
      break;
    case RK_BYTES:
      result.dtype = DType::kBytes;
      break;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          what, ": no dtype has the number ", static_cast<int>(spec->dtype)));
  }
  RK_ASSIGN_OR_RETURN(result.shape, ShapeOf(spec->rank, spec->shape, what));
  return result;
}

absl::StatusOr<Kind> KindOf(rk_kind kind) {
  switch (kind) {
    case RK_ACTIVATION:
      return Kind::kActivation;
    case RK_PARAMETER:
      return Kind::kParameter;
    case RK_GRADIENT:
      return Kind::kGradient;
    case RK_OPTIMIZER:
      return Kind::kOptimizer;
    case RK_INPUT:
      return Kind::kInput;
    case RK_OTHER:
      return Kind::kOther;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no rk_kind has the number ", static_cast<int>(kind)));
}

absl::StatusOr<Keep> KeepOf(rk_keep keep) {
  switch (keep) {
    case RK_KEEP_DEFAULT:
      return Keep::kDefault;
    case RK_KEEP_CHEAP:
      return Keep::kCheap;
    case RK_KEEP_RATHER_NOT:
      return Keep::kRatherNot;
    case RK_KEEP_NEVER:
      return Keep::kNever;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no rk_keep has the number ", static_cast<int>(keep)));
}

absl::Status Give(Tensor tensor, rk_tensor** out) {
  RK_RETURN_IF_ERROR(tensor.status());
  *out = new rk_tensor{std::move(tensor)};
  return absl::OkStatus();
}

std::shared_ptr<void> Owned(void* user, void (*end)(void* user)) {
  return {user, [end](void* ended) {
            if (end != nullptr) end(ended);
          }};
}

absl::Status CheckSize(size_t size, size_t expected, absl::string_view init) {
  if (size == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("struct_size ", size, " is not ", expected, ": begin with ",
                   init, " of the same version"));
}

}  // namespace rekindle::c
