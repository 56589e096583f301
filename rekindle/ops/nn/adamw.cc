// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/nn/adamw.h"

#include <optional>

#include "rekindle/base/status_macros.h"

namespace rekindle::nn {

AdamW::AdamW(ops::Context& context,
             const std::vector<ops::Parameter*>& parameters,
             const AdamWOptions& options)
    : context_(context), options_(options) {
  for (ops::Parameter* parameter : parameters) {
    const auto moment = [&](const char* suffix) {
      return context.runtime().Constant(
          parameter->value.spec(), nullptr,
          {.name = parameter->name + suffix, .kind = Kind::kOptimizer});
    };
    states_.push_back({parameter, moment(".m"), moment(".v")});
  }
}

absl::Status AdamW::Step(ops::Tape& tape, Site site) {
  if (!tape.has_gradients()) {
    return absl::FailedPreconditionError(
        "AdamW: the tape has no gradients; call Backward() first");
  }
  ++steps_;
  for (const State& state : states_) {
    std::optional<Tensor> gradient = tape.TakeGradient(*state.parameter);
    if (!gradient.has_value()) continue;
    AdamWOptions options = options_;
    if (!state.parameter->decay) options.weight_decay = 0;
    RK_RETURN_IF_ERROR(
        ops::AdamWUpdate(context_, options, steps_, *gradient,
                         {state.parameter->value, state.m, state.v}, site));
  }
  return absl::OkStatus();
}

}  // namespace rekindle::nn
