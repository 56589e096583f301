// SPDX-License-Identifier: Apache-2.0
// What operators ask of shapes.
#pragma once

#include "rekindle/ops/host/matrix_shape.h"
#include "rekindle/runtime/spec.h"

namespace rekindle::ops {

using host::MatrixShape;

// The tensor as a matrix: its last dimension times all others. A scalar is
// [1, 1].
inline MatrixShape RowsOf(const Spec& spec) {
  const int64_t columns = spec.shape.empty() ? 1 : spec.shape.back();
  return {columns == 0 ? 0 : spec.elements() / columns, columns};
}

inline double Elements(MatrixShape shape) {
  return static_cast<double>(shape.size());
}

// The spec with another last dimension. REQUIRES: at least one dimension.
inline Spec WithLastDim(Spec spec, int64_t n) {
  spec.shape.back() = n;
  return spec;
}

}  // namespace rekindle::ops
