// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy with integer targets, averaged over the rows:
//   loss = mean over r of logsumexp(logits[r, :]) - logits[r, targets[r]].
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "rekindle/ops/host/matrix_shape.h"
#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host {

// logits [rows, columns], targets [rows] -> loss [1], logsumexp [rows] (for
// the backward pass). The mean is taken in row order, in double precision.
// Errors: InvalidArgument if a target is outside [0, columns); nothing is
// written then.
absl::Status CrossEntropy(HostThreads threads, MatrixShape shape,
                          const float* logits, const int32_t* targets,
                          float* loss, float* logsumexp);

// dlogits[r, c] = dloss / rows * (exp(logits[r, c] - logsumexp[r]) -
//                                 [c == targets[r]]).
// logits [rows, columns], targets [rows], logsumexp [rows] (as CrossEntropy
// wrote it), dloss [1] -> dlogits [rows, columns]; dlogits may be logits.
// Errors: InvalidArgument as above.
absl::Status CrossEntropyBackward(HostThreads threads, MatrixShape shape,
                                  const float* logits, const int32_t* targets,
                                  const float* logsumexp, const float* dloss,
                                  float* dlogits);

}  // namespace rekindle::ops::host
