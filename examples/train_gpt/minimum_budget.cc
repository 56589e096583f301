// SPDX-License-Identifier: Apache-2.0
#include "examples/train_gpt/minimum_budget.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "examples/train_gpt/trainer.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/runtime/runtime.h"

namespace train_gpt {

using rekindle::Budget;
using rekindle::CountingDevice;
using rekindle::Runtime;

absl::StatusOr<size_t> FindMinimumBudget(const Corpus& corpus,
                                         const Flags& flags,
                                         rekindle::RuntimeOptions options,
                                         size_t granularity) {
  RK_ASSIGN_OR_RETURN(options.custom_device,
                      CountingDevice::Open({.granularity = granularity}));
  options.budget = Budget::Unlimited();
  options.print_stats = false;
  RK_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> runtime,
                      Runtime::Create(std::move(options)));
  Trainer trainer(*runtime, corpus, flags);
  RK_RETURN_IF_ERROR(trainer.Step().status());
  RK_RETURN_IF_ERROR(trainer.Finish());
  return runtime->MinimumBudget();
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
