// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "examples/train_gpt/corpus.h"
#include "examples/train_gpt/flags.h"
#include "rekindle/runtime/options.h"

namespace train_gpt {

// A small budget, in bytes, at which this training runs with these options.
// Found on a device that only counts: starts from what one step is known to
// need, and rehearses the training (its first kMostRehearsed steps) with more
// and more until that goes through. Decisions follow from sizes and modelled
// costs alone, so the real device will see the same ones.
// `granularity` is that of the real device.
inline constexpr int kMostRehearsed = 1000;
absl::StatusOr<size_t> FindMinimumBudget(const Corpus& corpus,
                                         const Flags& flags,
                                         rekindle::RuntimeOptions options,
                                         size_t granularity);

// As REKINDLE_BUDGET takes it, exactly.
std::string BudgetText(size_t bytes);

}  // namespace train_gpt
