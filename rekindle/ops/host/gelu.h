// SPDX-License-Identifier: Apache-2.0
// GELU in its tanh form. Source: Hendrycks and Gimpel, "Gaussian error linear
// units", 2016, section 2:
//   gelu(x) = x / 2 * (1 + tanh(u)) = x / (1 + exp(-2 u)),
//   u = sqrt(2 / pi) * (x + 0.044715 x^3).
#pragma once

#include <cstdint>

#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

// y = gelu(x). x [count] -> y [count]; y may be x.
void Gelu(HostThreads threads, int64_t count, const float* x, float* y);

// dx = dy * gelu'(x). x [count], dy [count] -> dx [count]; dx may be x or dy.
void GeluBackward(HostThreads threads, int64_t count, const float* x,
                  const float* dy, float* dx);

}  // namespace rekindle::ops::host
