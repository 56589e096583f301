// SPDX-License-Identifier: Apache-2.0
// Trains a small GPT on the characters of a text file, in as little memory as
// REKINDLE_BUDGET allows. `train_gpt --help` lists what can be set.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/train_gpt/corpus.h"
#include "examples/train_gpt/demo.h"
#include "examples/train_gpt/flags.h"
#include "examples/train_gpt/minimum_budget.h"
#include "examples/train_gpt/progress.h"
#include "examples/train_gpt/trainer.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/runtime/runtime.h"

namespace train_gpt {
namespace {

using rekindle::FormatBytes;
using rekindle::Runtime;
using rekindle::RuntimeOptions;
using rekindle::RuntimeStats;

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

void PrintStart(const Corpus& corpus, const Flags& flags, Trainer& trainer,
                const Runtime& runtime) {
  std::printf(
      "GPT of %d layers, width %d, %d heads: %lld parameters\n"
      "%s: %zu characters, %d different; batches of %d x %d\n",
      flags.layers, flags.width, flags.heads,
      static_cast<long long>(trainer.parameters()), flags.text.c_str(),
      corpus.size(), corpus.vocabulary(), flags.batch, flags.context);
  const size_t budget = runtime.Stats().allocator.budget;
  std::printf("budget: %s\n", budget > (size_t{1} << 60)
                                  ? "unlimited"
                                  : FormatBytes(budget).c_str());
  if (!runtime.device().holds_bytes()) {
    std::printf("this device runs no kernels: losses mean nothing\n");
  }
  std::fflush(stdout);
}

void PrintEnd(const RuntimeStats& stats) {
  std::printf("peak %s, evictions %lld, recomputations %lld\n",
              FormatBytes(stats.device.peak_created).c_str(),
              static_cast<long long>(stats.engine.evictions),
              static_cast<long long>(stats.engine.recomputations));
}

absl::Status Train(Runtime& runtime, const Corpus& corpus, const Flags& flags) {
  Trainer trainer(runtime, corpus, flags);
  PrintStart(corpus, flags, trainer, runtime);
  {
    Progress progress("", flags.steps, flags.batch * flags.context, 1);
    for (int step = 1; step <= flags.steps; ++step) {
      const auto start = std::chrono::steady_clock::now();
      RK_ASSIGN_OR_RETURN(const float loss, trainer.Step());
      const std::chrono::duration<double> took =
          std::chrono::steady_clock::now() - start;
      progress.Show(step, loss, took.count());
    }
  }
  RK_RETURN_IF_ERROR(trainer.Finish());
  PrintEnd(runtime.Stats());
  if (!runtime.device().holds_bytes()) return absl::OkStatus();
  RK_ASSIGN_OR_RETURN(const std::string text, trainer.Write(flags.sample));
  if (!text.empty()) std::printf("\n%s\n", text.c_str());
  return absl::OkStatus();
}

int Complain(const absl::Status& status, int exit_status) {
  const absl::string_view message = status.message();
  std::fprintf(stderr, "train_gpt: %.*s\n", static_cast<int>(message.size()),
               message.data());
  return exit_status;
}

// Says which budget would do.
void Advise(const Corpus& corpus, const Flags& flags,
            const RuntimeOptions& options, size_t granularity) {
  std::fprintf(stderr, "train_gpt: looking for a budget that would do...\n");
  const absl::StatusOr<size_t> minimum =
      FindMinimumBudget(corpus, flags, options, granularity);
  if (minimum.ok()) {
    std::fprintf(stderr,
                 "train_gpt: this training is known to run with "
                 "REKINDLE_BUDGET=%s\n",
                 BudgetText(*minimum).c_str());
  } else {
    Complain(minimum.status(), kFailed);
  }
}

int RunTraining(const Corpus& corpus, const Flags& flags,
                const RuntimeOptions& options) {
  const absl::StatusOr<std::unique_ptr<Runtime>> runtime =
      Runtime::Create(options);
  if (!runtime.ok()) return Complain(runtime.status(), kFailed);
  const absl::Status status = Train(**runtime, corpus, flags);
  if (status.ok()) return 0;
  Complain(status, kFailed);
  if (absl::IsResourceExhausted(status)) {
    Advise(corpus, flags, options, (*runtime)->device().granularity());
  }
  return kFailed;
}

int Main(int argc, char** argv) {
  int exit_status = 0;
  const std::optional<Flags> flags = ParseFlags(argc, argv, exit_status);
  if (!flags.has_value()) return exit_status;
  const absl::StatusOr<RuntimeOptions> options =
      RuntimeOptions::FromEnvironment();
  if (!options.ok()) return Complain(options.status(), kBadInput);
  const absl::StatusOr<Corpus> corpus =
      Corpus::Load(flags->text, static_cast<size_t>(flags->context) + 1);
  if (!corpus.ok()) return Complain(corpus.status(), kBadInput);
  if (!flags->demo) return RunTraining(*corpus, *flags, *options);
  if (std::getenv("REKINDLE_BUDGET") != nullptr) {
    std::fprintf(stderr,
                 "train_gpt: --demo sets its own budgets, not "
                 "REKINDLE_BUDGET\n");
  }
  const absl::StatusOr<bool> held = RunDemo(*corpus, *flags, *options);
  if (!held.ok()) return Complain(held.status(), kFailed);
  return *held ? 0 : kFailed;
}

}  // namespace
}  // namespace train_gpt

int main(int argc, char** argv) {
  try {
    const int exit_status = train_gpt::Main(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
      return exit_status;
    }
    std::fprintf(stderr, "train_gpt: cannot write to standard output\n");
    return 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "train_gpt: the machine has not enough memory for a model of "
                 "this size\n");
    return 1;
  }
}
