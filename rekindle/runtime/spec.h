// SPDX-License-Identifier: Apache-2.0
// Shape and element type of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace rekindle {

enum class DType : uint8_t { kF32, kI32, kBytes };

// Bytes of one element.
constexpr size_t SizeOf(DType dtype) { return dtype == DType::kBytes ? 1 : 4; }

using Shape = absl::InlinedVector<int64_t, 4>;

// Elements are stored row by row, without gaps.
struct Spec {
  DType dtype = DType::kF32;
  Shape shape;

  // `n` bytes of a type that Rekindle does not know.
  static Spec Bytes(size_t n);

  // Product of the dimensions; 1 for a scalar (no dimensions). Of a spec that
  // is not valid: some number, without undefined behaviour.
  int64_t elements() const;
  size_t bytes() const;

  // InvalidArgument for a negative dimension or more than 2^62 bytes.
  absl::Status Validate() const;

  friend bool operator==(const Spec& a, const Spec& b) {
    return a.dtype == b.dtype && a.shape == b.shape;
  }
  friend bool operator!=(const Spec& a, const Spec& b) { return !(a == b); }
};

inline int64_t Spec::elements() const {
  int64_t product = 1;
  bool too_many = false;
  for (int64_t dim : shape) {
    if (dim <= 0) return 0;
    too_many = __builtin_mul_overflow(product, dim, &product) || too_many;
  }
  return too_many ? std::numeric_limits<int64_t>::max() : product;
}

inline size_t Spec::bytes() const {
  size_t product = 0;
  const auto count = static_cast<size_t>(elements());
  if (__builtin_mul_overflow(count, SizeOf(dtype), &product)) {
    return std::numeric_limits<size_t>::max();
  }
  return product;
}

// F32({2, 3}) is a matrix of 2 rows and 3 columns of float; F32({}) a scalar.
Spec F32(std::initializer_list<int64_t> shape);
Spec F32(absl::Span<const int64_t> shape);
Spec I32(std::initializer_list<int64_t> shape);

// "f32 [2, 3]"
std::string ToString(const Spec& spec);
std::string ToString(const Shape& shape);

}  // namespace rekindle
