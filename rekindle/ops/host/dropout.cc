// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/dropout.h"

#include <algorithm>
#include <array>

#include "rekindle/base/check.h"
#include "rekindle/ops/host/math.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

constexpr int kBlocks = 16;              // Philox blocks of one group.
constexpr int64_t kGroup = 4 * kBlocks;  // Elements that they serve.
constexpr int64_t kOperations = 8;       // Of an element, against a plain copy.

struct Rule {
  uint32_t threshold;  // Words below it drop their element.
  float scale;
};

Rule RuleOf(float rate) {
  RK_CHECK(rate >= 0.0f && rate < 1.0f, "the dropout rate is not in [0, 1)");
  return {static_cast<uint32_t>(double{rate} * 0x1p32), 1.0f / (1.0f - rate)};
}

// words[i] = word kGroup * group + i of the draw. (As vector code this was not
// quicker: compilers do not find the widening multiplication.)
RK_HOST_INLINE void Words(PhiloxDraw draw, int64_t group, uint32_t* words) {
  for (int j = 0; j < kBlocks; ++j) {
    const std::array<uint32_t, 4> block =
        PhiloxBlock(draw, static_cast<uint64_t>(group * kBlocks + j));
    for (int w = 0; w < 4; ++w) words[4 * j + w] = block[w];
  }
}

RK_HOST_CLONES void Groups(Rule rule, PhiloxDraw draw, int64_t count,
                           int64_t begin, int64_t end, const float* x,
                           float* y) {
  for (int64_t group = begin; group < end; ++group) {
    uint32_t words[kGroup];
    Words(draw, group, words);
    const int64_t first = group * kGroup;
    const int64_t size = std::min(kGroup, count - first);
    RK_HOST_INDEPENDENT
    for (int64_t i = 0; i < size; ++i) {
      y[first + i] =
          Select(words[i] < rule.threshold, 0.0f, x[first + i] * rule.scale);
    }
  }
}

RK_HOST_CLONES void MaskGroups(Rule rule, PhiloxDraw draw, int64_t count,
                               int64_t begin, int64_t end, uint8_t* mask) {
  for (int64_t group = begin; group < end; ++group) {
    uint32_t words[kGroup];
    Words(draw, group, words);
    const int64_t first = group * kGroup;
    const int64_t size = std::min(kGroup, count - first);
    for (int64_t i = 0; i < size; ++i) {
      mask[first + i] = words[i] < rule.threshold ? 0 : 1;
    }
  }
}

RK_HOST_CLONES void MaskRange(float scale, const float* x, const uint8_t* mask,
                              float* y, int64_t count) {
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    y[i] = Select(mask[i] == 0, 0.0f, x[i] * scale);
  }
}

int64_t GroupsOf(int64_t count) { return (count + kGroup - 1) / kGroup; }

}  // namespace

void Dropout(HostThreads threads, int64_t count, float rate, PhiloxDraw draw,
             const float* x, float* y) {
  const Rule rule = RuleOf(rate);
  ParallelFor(threads, GroupsOf(count), kGroup * kOperations,
              [=](int64_t begin, int64_t end) {
                Groups(rule, draw, count, begin, end, x, y);
              });
}

void DropoutWithMask(HostThreads threads, int64_t count, float rate,
                     PhiloxDraw draw, const float* x, float* y, uint8_t* mask) {
  const Rule rule = RuleOf(rate);
  ParallelFor(threads, GroupsOf(count), kGroup * kOperations,
              [=](int64_t begin, int64_t end) {
                MaskGroups(rule, draw, count, begin, end, mask);
              });
  DropoutMaskBackward(threads, count, rate, x, mask, y);
}

void DropoutMaskBackward(HostThreads threads, int64_t count, float rate,
                         const float* dy, const uint8_t* mask, float* dx) {
  const float scale = RuleOf(rate).scale;
  ParallelFor(threads, count, 1, [=](int64_t begin, int64_t end) {
    MaskRange(scale, dy + begin, mask + begin, dx + begin, end - begin);
  });
}

}  // namespace rekindle::ops::host
