// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/spec.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rekindle {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 62;

const char* Name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kI32:
      return "i32";
    case DType::kBytes:
      return "bytes";
  }
  return "?";
}

}  // namespace

Spec Spec::Bytes(size_t n) {
  return {DType::kBytes, {static_cast<int64_t>(n)}};
}

absl::Status Spec::Validate() const {
  if (absl::c_any_of(shape, [](int64_t dim) { return dim < 0; })) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(*this), " has a negative dimension"));
  }
  if (bytes() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(*this), " is larger than 2^62 bytes"));
  }
  return absl::OkStatus();
}

Spec F32(std::initializer_list<int64_t> shape) { return {DType::kF32, shape}; }

Spec F32(absl::Span<const int64_t> shape) {
  return {DType::kF32, Shape(shape.begin(), shape.end())};
}

Spec I32(std::initializer_list<int64_t> shape) { return {DType::kI32, shape}; }

std::string ToString(const Spec& spec) {
  return absl::StrCat(Name(spec.dtype), " ", ToString(spec.shape));
}

std::string ToString(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace rekindle
