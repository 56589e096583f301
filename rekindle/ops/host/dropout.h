// SPDX-License-Identifier: Apache-2.0
// Dropout. Source: Srivastava et al., JMLR 15, 2014, in the form that scales
// what is kept by 1 / (1 - rate).
//
// Element i is dropped if word i of the draw (see base/philox.h) is below
// rate * 2^32. The same draw always drops the same elements, so the backward
// pass needs the draw only; a mask is for those who want to see it.
#pragma once

#include <cstdint>

#include "rekindle/base/philox.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

// y[i] = dropped(i) ? 0 : x[i] / (1 - rate). x [count] -> y [count]; y may be
// x. The backward pass is the same function: dy -> dx.
// REQUIRES: 0 <= rate < 1.
void Dropout(HostThreads threads, int64_t count, float rate, PhiloxDraw draw,
             const float* x, float* y);

// The same, and mask[i] = dropped(i) ? 0 : 1. x [count] -> y [count],
// mask [count].
void DropoutWithMask(HostThreads threads, int64_t count, float rate,
                     PhiloxDraw draw, const float* x, float* y, uint8_t* mask);

// dx[i] = mask[i] ? dy[i] / (1 - rate) : 0. dy [count], mask [count] ->
// dx [count]; dx may be dy. Bit-equal to Dropout with the mask's draw.
void DropoutMaskBackward(HostThreads threads, int64_t count, float rate,
                         const float* dy, const uint8_t* mask, float* dx);

}  // namespace rekindle::ops::host
