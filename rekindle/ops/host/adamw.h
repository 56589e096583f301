// SPDX-License-Identifier: Apache-2.0
// AdamW. Source: Loshchilov and Hutter, "Decoupled weight decay
// regularization", ICLR 2019, algorithm 2.
#pragma once

#include <cstdint>

#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

struct AdamWOptions {
  float learning_rate = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0.01f;
};

// One step, in place, of parameter, m (first moment) and v (second moment),
// each [count], from gradient [count]; m and v start as zeros:
//   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;
//   p -= learning_rate * ((m / (1 - beta1^step)) /
//        (sqrt(v / (1 - beta2^step)) + epsilon) + weight_decay p).
// REQUIRES: step >= 1, the number of this step.
void AdamW(HostThreads threads, int64_t count, const AdamWOptions& options,
           int64_t step, const float* gradient, float* parameter, float* m,
           float* v);

}  // namespace rekindle::ops::host
