// SPDX-License-Identifier: Apache-2.0
// rekindle replay: allocation traces under a budget.
#include <CLI/CLI.hpp>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/trace/allocation_trace.h"
#include "rekindle/trace/csv_row.h"
#include "rekindle/trace/text_file.h"
#include "tools/rekindle/allocation_replay.h"
#include "tools/rekindle/budget_flag.h"
#include "tools/rekindle/command.h"
#include "tools/rekindle/one_line.h"
#include "tools/rekindle/progress.h"
#include "tools/rekindle/replay_report.h"

namespace rekindle::tools {
namespace {

constexpr uint64_t kMostPasses = 1000000;

struct Flags {
  std::vector<std::string> traces;
  std::string budget = "1.01";
  std::string granularity = "2MiB";
  std::string passes = "2";
  std::string allocator = "vmm";
  bool json = false;
};

absl::Status InFlag(absl::string_view flag, const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("rekindle: ", flag, ": ", status.message()));
}

absl::StatusOr<size_t> ParseGranularity(const std::string& text) {
  RK_ASSIGN_OR_RETURN(const size_t bytes, ParseBytes(text));
  if (bytes >= 256 && bytes <= kGiB * 1024 && std::has_single_bit(bytes)) {
    return bytes;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(text), " is not a power of two from 256B to 1TiB"));
}

absl::StatusOr<int> ParsePasses(const std::string& text) {
  RK_ASSIGN_OR_RETURN(const uint64_t passes,
                      ParseWhole("number", text, kMostPasses));
  if (passes > 0) return static_cast<int>(passes);
  return absl::InvalidArgumentError("at least one is needed");
}

absl::StatusOr<std::vector<AllocationTrace>> ReadTraces(
    const std::vector<std::string>& paths) {
  std::vector<AllocationTrace> traces;
  for (const std::string& path : paths) {
    RK_ASSIGN_OR_RETURN(AllocationTrace trace, ReadAllocationTrace(path));
    traces.push_back(std::move(trace));
  }
  return traces;
}

absl::StatusOr<std::vector<ReplayedTrace>> ReplayAll(
    const std::vector<AllocationTrace>& traces, const BudgetFlag& budget,
    ReplayOptions options) {
  Progress progress;
  std::vector<ReplayedTrace> replays;
  for (const AllocationTrace& trace : traces) {
    progress.Show(absl::StrCat("replaying ", OneLine(trace.name)));
    options.budget = budget.Bytes(trace.peak_live_bytes);
    const absl::StatusOr<ReplayResult> result = Replay(trace, options);
    if (!result.ok()) return InFlag(trace.name, result.status());
    replays.push_back({&trace, options.budget, *result});
  }
  return replays;
}

absl::StatusOr<int> RunReplay(const Flags& flags) {
  const auto budget = BudgetFlag::Parse(flags.budget);
  if (!budget.ok()) return InFlag("--budget", budget.status());
  const auto granularity = ParseGranularity(flags.granularity);
  if (!granularity.ok()) return InFlag("--granularity", granularity.status());
  const auto passes = ParsePasses(flags.passes);
  if (!passes.ok()) return InFlag("--passes", passes.status());
  RK_ASSIGN_OR_RETURN(const std::vector<AllocationTrace> traces,
                      ReadTraces(flags.traces));
  ReplayOptions options;
  options.granularity = *granularity;
  options.passes = *passes;
  options.allocator =
      flags.allocator == "bfc" ? ReplayAllocator::kBfc : ReplayAllocator::kVmm;
  RK_ASSIGN_OR_RETURN(const std::vector<ReplayedTrace> replays,
                      ReplayAll(traces, *budget, options));
  const std::string report =
      flags.json ? ReplayJson(replays) : ReplayTable(replays);
  std::fputs(report.c_str(), stdout);
  int exit_status = kDone;
  for (const ReplayedTrace& replay : replays) {
    if (replay.result.completed()) continue;
    PrintError(absl::StrCat("rekindle: ", replay.trace->name, ": ",
                            replay.result.failure));
    exit_status = kFailed;
  }
  return exit_status;
}

}  // namespace

Run AddReplay(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("traces", flags->traces, "CSV files, plain or gzip")
      ->required();
  app.add_option("--budget", flags->budget,
                 "Physical memory: a fraction of the peak of live bytes, or "
                 "bytes with a unit")
      ->capture_default_str();
  app.add_option("--granularity", flags->granularity,
                 "Size of the device's chunks, a power of two")
      ->capture_default_str();
  app.add_option("--passes", flags->passes,
                 "Times the trace is run on the same allocator")
      ->capture_default_str();
  app.add_option("--allocator", flags->allocator, "vmm or bfc")
      ->check(CLI::IsMember({"vmm", "bfc"}))
      ->capture_default_str();
  app.add_flag("--json", flags->json, "Print one JSON document");
  return [flags] {
    const absl::StatusOr<int> status = RunReplay(*flags);
    if (status.ok()) return *status;
    PrintError(status.status().message());
    return kBadInput;
  };
}

}  // namespace rekindle::tools
