// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/statusor.h"
#include "examples/train_gpt/corpus.h"
#include "examples/train_gpt/flags.h"
#include "rekindle/runtime/options.h"

namespace train_gpt {

// Trains the same model without a limit, at 60% and at 35% of the peak of that
// run, and prints what each cost in one table. False if the losses of any step
// differ in a bit, a device held more than the budget, or a budget was met
// without recomputing anything. `options` are those of the runtimes, but for
// the budget.
absl::StatusOr<bool> RunDemo(const Corpus& corpus, const Flags& flags,
                             const rekindle::RuntimeOptions& options);

}  // namespace train_gpt
