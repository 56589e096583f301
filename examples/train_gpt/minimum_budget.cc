// SPDX-License-Identifier: Apache-2.0
#include "examples/train_gpt/minimum_budget.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "examples/train_gpt/trainer.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/runtime/runtime.h"

namespace train_gpt {
namespace {

using rekindle::Budget;
using rekindle::CountingDevice;
using rekindle::Runtime;
using rekindle::RuntimeOptions;

// `options` for a device that only counts.
absl::StatusOr<std::unique_ptr<Runtime>> Count(RuntimeOptions options,
                                               size_t granularity,
                                               Budget budget) {
  RK_ASSIGN_OR_RETURN(options.custom_device,
                      CountingDevice::Open({.granularity = granularity}));
  options.budget = budget;
  options.print_stats = false;
  options.log_level = 0;
  options.snapshot_directory = "";
  return Runtime::Create(std::move(options));
}

absl::Status Rehearse(Runtime& runtime, const Corpus& corpus,
                      const Flags& flags, int steps) {
  Trainer trainer(runtime, corpus, flags);
  for (int step = 0; step < steps; ++step) {
    RK_RETURN_IF_ERROR(trainer.Step().status());
  }
  RK_RETURN_IF_ERROR(trainer.Finish());
  return trainer.Write(std::min(flags.sample, 1)).status();
}

absl::StatusOr<size_t> MinimumOfOneStep(const Corpus& corpus,
                                        const Flags& flags,
                                        const RuntimeOptions& options,
                                        size_t granularity) {
  RK_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime,
                      Count(options, granularity, Budget::Unlimited()));
  Trainer trainer(*runtime, corpus, flags);
  RK_RETURN_IF_ERROR(trainer.Step().status());
  RK_RETURN_IF_ERROR(trainer.Finish());
  return runtime->MinimumBudget();
}

}  // namespace

absl::StatusOr<size_t> FindMinimumBudget(const Corpus& corpus,
                                         const Flags& flags,
                                         RuntimeOptions options,
                                         size_t granularity) {
  constexpr size_t kSteps = 32;  // A doubling of the budget, cut into so many.
  RK_ASSIGN_OR_RETURN(const size_t least,
                      MinimumOfOneStep(corpus, flags, options, granularity));
  const size_t more = rekindle::RoundUp(least / kSteps, granularity);
  for (size_t budget = least;; budget += more) {
    RK_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime,
                        Count(options, granularity, Budget::Bytes(budget)));
    const absl::Status status = Rehearse(*runtime, corpus, flags,
                                         std::min(flags.steps, kMostRehearsed));
    if (status.ok()) return budget;
    if (!absl::IsResourceExhausted(status)) return status;
  }
}

std::string BudgetText(size_t bytes) {
  if (bytes % rekindle::kMiB == 0) {
    return absl::StrCat(bytes / rekindle::kMiB, "MiB");
  }
  if (bytes % rekindle::kKiB == 0) {
    return absl::StrCat(bytes / rekindle::kKiB, "KiB");
  }
  return absl::StrCat(bytes, "B");
}

}  // namespace train_gpt
