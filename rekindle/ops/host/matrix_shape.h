// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

namespace rekindle::ops::host {

// [rows, columns], row-major, contiguous. A tensor of more dimensions is seen
// as its last dimension times all others.
struct MatrixShape {
  int64_t rows = 1;
  int64_t columns = 1;

  constexpr int64_t size() const { return rows * columns; }

  friend constexpr auto operator<=>(const MatrixShape&,
                                    const MatrixShape&) = default;
};

}  // namespace rekindle::ops::host
