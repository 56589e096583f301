// SPDX-License-Identifier: Apache-2.0
// Reductions in a fixed order, which the compiler may turn into vectors of any
// width without changing a bit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {

inline constexpr int kLanes = 16;

struct SumOf {
  static constexpr float kStart = 0.0f;
  static RK_HOST_INLINE float Combine(float a, float b) { return a + b; }
};

struct MaxOf {
  static constexpr float kStart = -__builtin_inff();
  // Not-a-number elements are skipped.
  static RK_HOST_INLINE float Combine(float a, float b) {
    return b > a ? b : a;
  }
};

// Op over term(0), ..., term(count - 1): term(i) goes to lane i % 16, the lanes
// are combined as a binary tree. `term` is called once for each index.
template <typename Op, typename Term>
RK_HOST_INLINE float Reduce(int64_t count, const Term& term) {
  float lane[kLanes];
  for (int j = 0; j < kLanes; ++j) lane[j] = Op::kStart;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      lane[j] = Op::Combine(lane[j], term(i + j));
    }
  }
  for (int j = 0; i + j < count; ++j) {
    lane[j] = Op::Combine(lane[j], term(i + j));
  }
  // Written out, so that the lanes stay in registers.
  float a[8], b[4];
  for (int j = 0; j < 8; ++j) a[j] = Op::Combine(lane[j], lane[j + 8]);
  for (int j = 0; j < 4; ++j) b[j] = Op::Combine(a[j], a[j + 4]);
  return Op::Combine(Op::Combine(b[0], b[2]), Op::Combine(b[1], b[3]));
}

// out[c] = sum over rows of term(row, c), for c in [begin, end): rows are added
// in blocks of 64, then the blocks, each in order, so a column's sum does not
// depend on which columns are summed with it.
template <typename Term>
RK_HOST_INLINE void SumColumns(int64_t rows, int64_t begin, int64_t end,
                               const Term& term, float* out) {
  constexpr int64_t kTile = 64, kBlock = 64;
  for (int64_t tile = begin; tile < end; tile += kTile) {
    const int64_t width = std::min(kTile, end - tile);
    float total[kTile] = {};
    for (int64_t block = 0; block < rows; block += kBlock) {
      const int64_t stop = std::min(rows, block + kBlock);
      float part[kTile] = {};
      for (int64_t row = block; row < stop; ++row) {
        for (int64_t j = 0; j < width; ++j) part[j] += term(row, tile + j);
      }
      for (int64_t j = 0; j < kTile; ++j) total[j] += part[j];
    }
    std::copy_n(total, width, out + tile);
  }
}

}  // namespace rekindle::ops::host
