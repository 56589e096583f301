// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "examples/train_gpt/corpus.h"
#include "examples/train_gpt/flags.h"
#include "rekindle/runtime/options.h"

namespace train_gpt {

// The smallest budget, in bytes, at which a whole training step is known to
// run with these options: finds out by a step on a device that only counts.
// `granularity` is that of the real device.
absl::StatusOr<size_t> FindMinimumBudget(const Corpus& corpus,
                                         const Flags& flags,
                                         rekindle::RuntimeOptions options,
                                         size_t granularity);

// As REKINDLE_BUDGET takes it, exactly.
std::string BudgetText(size_t bytes);

}  // namespace train_gpt
