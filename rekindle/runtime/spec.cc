// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/spec.h"

#include <limits>

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

size_t SizeOf(DType dtype) { return dtype == DType::kBytes ? 1 : 4; }

Spec Spec::Bytes(size_t n) {
  return {DType::kBytes, {static_cast<int64_t>(n)}};
}

int64_t Spec::elements() const {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (absl::c_any_of(shape, [](int64_t dim) { return dim <= 0; })) return 0;
  int64_t product = 1;
  for (int64_t dim : shape) {
    if (__builtin_mul_overflow(product, dim, &product)) return kMost;
  }
  return product;
}

size_t Spec::bytes() const {
  size_t product = 0;
  if (__builtin_mul_overflow(static_cast<size_t>(elements()), SizeOf(dtype),
                             &product)) {
    return std::numeric_limits<size_t>::max();
  }
  return product;
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
