// SPDX-License-Identifier: Apache-2.0
// Arithmetic element by element. An output may be the same array as an input
// (accumulation is Add with c == a), but not overlap it otherwise.
#pragma once

#include <cstdint>

#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

// y[i] = value. y [count].
void Fill(HostThreads threads, int64_t count, float value, float* y);

// c = a + b. a [count], b [count] -> c [count].
void Add(HostThreads threads, int64_t count, const float* a, const float* b,
         float* c);

// y = factor * x. x [count] -> y [count].
void Scale(HostThreads threads, int64_t count, float factor, const float* x,
           float* y);

}  // namespace rekindle::ops::host
