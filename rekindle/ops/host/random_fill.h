// SPDX-License-Identifier: Apache-2.0
// Random arrays, for initial weights. Number i of an array depends on the draw
// and i alone.
#pragma once

#include <cstdint>

#include "rekindle/base/philox.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

// y[i] uniform in [low, high). y [count].
void FillUniform(HostThreads threads, int64_t count, PhiloxDraw draw, float low,
                 float high, float* y);

// y[i] normal with the given mean and standard deviation. y [count].
// Source: Box and Muller, 1958; numbers 2 j and 2 j + 1 come from words 2 j and
// 2 j + 1, in double precision.
void FillNormal(HostThreads threads, int64_t count, PhiloxDraw draw, float mean,
                float deviation, float* y);

}  // namespace rekindle::ops::host
