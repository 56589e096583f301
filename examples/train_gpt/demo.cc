// SPDX-License-Identifier: Apache-2.0
#include "examples/train_gpt/demo.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "examples/train_gpt/progress.h"
#include "examples/train_gpt/trainer.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/runtime/runtime.h"

namespace train_gpt {
namespace {

using rekindle::Budget;
using rekindle::Runtime;
using rekindle::RuntimeOptions;
using rekindle::RuntimeStats;

struct Run {
  std::string name;
  size_t budget = 0;  // 0: unlimited.
  std::vector<uint32_t> loss_bits;
  std::vector<double> seconds;
  RuntimeStats stats;
  std::string text;

  double median_seconds() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  size_t constant_bytes() const {
    const auto& constants = stats.engine.constant_bytes;
    return std::accumulate(constants.begin(), constants.end(), size_t{0});
  }
  bool within_budget() const {
    return budget == 0 || stats.device.peak_created <= budget;
  }
};

absl::StatusOr<Run> Train(const Corpus& corpus, const Flags& flags,
                          RuntimeOptions options, std::string name,
                          size_t budget) {
  Run run;
  run.name = std::move(name);
  run.budget = budget;
  options.budget = budget == 0 ? Budget::Unlimited() : Budget::Bytes(budget);
  RK_ASSIGN_OR_RETURN(std::unique_ptr<Runtime> runtime,
                      Runtime::Create(options));
  if (!runtime->device().holds_bytes()) {
    return absl::InvalidArgumentError(
        "--demo compares losses, and this device runs no kernels: set "
        "REKINDLE_DEVICE=host");
  }
  Trainer trainer(*runtime, corpus, flags);
  Progress progress(absl::StrFormat("%-10s", run.name), flags.steps,
                    flags.batch * flags.context, std::max(1, flags.steps / 5));
  for (int step = 1; step <= flags.steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    RK_ASSIGN_OR_RETURN(const float loss, trainer.Step());
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    run.loss_bits.push_back(std::bit_cast<uint32_t>(loss));
    run.seconds.push_back(took.count());
    progress.Show(step, loss, took.count());
  }
  RK_RETURN_IF_ERROR(trainer.Finish());
  run.stats = runtime->Stats();
  RK_ASSIGN_OR_RETURN(run.text, trainer.Write(flags.sample));
  return run;
}

void PrintTable(const std::vector<Run>& runs) {
  std::printf("%-10s %12s %12s %10s %10s %10s %14s\n", "run", "budget", "peak",
              "step", "slow-down", "evictions", "recomputations");
  const double base = runs.front().median_seconds();
  for (const Run& run : runs) {
    std::printf(
        "%-10s %12s %12s %7.1f ms %9.2fx %10lld %14lld\n", run.name.c_str(),
        run.budget == 0 ? "-" : rekindle::FormatBytes(run.budget).c_str(),
        rekindle::FormatBytes(run.stats.device.peak_created).c_str(),
        1e3 * run.median_seconds(), run.median_seconds() / base,
        static_cast<long long>(run.stats.engine.evictions),
        static_cast<long long>(run.stats.engine.recomputations));
  }
}

// What the demo promises, line by line; false if any of it does not hold.
bool PrintVerdict(const std::vector<Run>& runs) {
  const auto all = [&](auto holds) {
    return std::all_of(runs.begin(), runs.end(), holds);
  };
  const bool equal = all(
      [&](const Run& run) { return run.loss_bits == runs.front().loss_bits; });
  const bool within = all([](const Run& run) { return run.within_budget(); });
  const bool recomputed = all([](const Run& run) {
    return run.budget == 0 || run.stats.engine.recomputations > 0;
  });
  const auto yes = [](bool holds) { return holds ? "yes" : "no"; };
  std::printf("losses equal: %s (bit by bit, %zu steps)\n", yes(equal),
              runs.front().loss_bits.size());
  std::printf("peak within budget: %s (bytes that the device counted)\n",
              yes(within));
  if (!recomputed) std::printf("a budget was met without recomputation\n");
  return equal && within && recomputed;
}

}  // namespace

absl::StatusOr<bool> RunDemo(const Corpus& corpus, const Flags& flags,
                             const RuntimeOptions& options) {
  std::vector<Run> runs;
  RK_ASSIGN_OR_RETURN(Run unlimited,
                      Train(corpus, flags, options, "unlimited", 0));
  const size_t peak = unlimited.stats.engine.peak_live_bytes;
  const double constants = static_cast<double>(unlimited.constant_bytes());
  runs.push_back(std::move(unlimited));
  for (int percent : {60, 35}) {
    RK_ASSIGN_OR_RETURN(
        Run run, Train(corpus, flags, options, absl::StrFormat("%d%%", percent),
                       peak / 100 * static_cast<size_t>(percent)));
    runs.push_back(std::move(run));
  }
  if (flags.sample > 0) {
    std::printf("\nWritten by the model trained at 35%%:\n%s\n",
                runs.back().text.c_str());
  }
  std::printf(
      "\nWithout a limit the program needs %s at its peak, of which %.1f%% are "
      "constants\n(parameters and the optimizer's moments).\n\n",
      rekindle::FormatBytes(peak).c_str(),
      100 * constants / static_cast<double>(peak));
  PrintTable(runs);
  return PrintVerdict(runs);
}

}  // namespace train_gpt
