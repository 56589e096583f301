// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "rekindle/ops/adamw.h"
#include "rekindle/ops/context.h"
#include "rekindle/ops/parameter.h"
#include "rekindle/ops/tape.h"

namespace rekindle::nn {

using ops::AdamWOptions;

// The AdamW optimizer: two moments, in constants of kind kOptimizer, for each
// parameter. Parameters marked `decay` are decayed, others not.
class AdamW {
 public:
  // The parameters and the context outlive it.
  AdamW(ops::Context& context, const std::vector<ops::Parameter*>& parameters,
        const AdamWOptions& options);

  // Updates each parameter that the tape has a gradient for, in place and in
  // the order given, and takes that gradient from the tape.
  // Errors: FailedPrecondition if the tape's Backward() has not succeeded; that
  // of a parameter or moment that could not be made. Those of the updates
  // themselves show at the next BeginStep(); parameters before the one that
  // failed are updated then, and those after it are not.
  absl::Status Step(ops::Tape& tape, Site site = Site::Current());

  // Steps so far.
  int64_t steps() const { return steps_; }
  void set_learning_rate(float rate) { options_.learning_rate = rate; }

 private:
  struct State {
    ops::Parameter* parameter;
    Tensor m;
    Tensor v;
  };

  ops::Context& context_;
  AdamWOptions options_;
  std::vector<State> states_;
  int64_t steps_ = 0;
};

}  // namespace rekindle::nn
