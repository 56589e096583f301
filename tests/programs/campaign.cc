// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/campaign.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rekindle/base/check.h"
#include "tests/programs/child_process.h"
#include "tests/programs/make_program.h"
#include "tests/programs/shrink.h"

namespace rekindle::programs {
namespace {

// A program that runs for longer hangs; all of them together may take as long.
constexpr unsigned kSecondsOfAProgram = 20;
constexpr unsigned kSecondsOfACampaign = 3000;

// What a child process has to tell, however it ends.
struct Progress {
  uint32_t seed = 0;
  bool limited = false;
  Histogram histogram;
};

Program ProgramOf(Level level, DeviceKind device, uint32_t seed, bool limited) {
  Program program = MakeProgram(seed, level, device);
  if (limited) program.budget = RandomBudget(seed);
  return program;
}

// Prints what is wrong. Also in a child process.
bool IsRight(const Outcome& outcome) {
  if (!outcome.failure.empty()) std::printf("%s\n", outcome.failure.c_str());
  return outcome.failure.empty() && !::testing::Test::HasFailure();
}

bool RunAll(Level level, DeviceKind device, uint32_t programs,
            const RunOptions& options, Progress& progress) {
  for (uint32_t seed = 1; seed <= programs; ++seed) {
    progress.seed = seed;
    for (const bool limited : {false, true}) {
      progress.limited = limited;
      const Outcome outcome =
          RunProgram(ProgramOf(level, device, seed, limited), options);
      if (!IsRight(outcome)) return false;
      if (limited) progress.histogram.Add(outcome);
    }
  }
  return true;
}

}  // namespace

void Histogram::Add(const Outcome& outcome) {
  ++programs;
  recomputed += outcome.stats.recomputations > 0 ? 1 : 0;
  deep += outcome.stats.max_depth >= 3 ? 1 : 0;
  rescued += outcome.stats.rescues > 0 ? 1 : 0;
  moved += outcome.stats.moves > 0 ? 1 : 0;
  did_not_fit += outcome.exhausted > 0 ? 1 : 0;
}

std::string ToString(const Histogram& histogram) {
  const auto percent = [&histogram](int64_t count) {
    return absl::StrCat(100 * count / std::max<int64_t>(histogram.programs, 1),
                        "%");
  };
  return absl::StrCat(
      histogram.programs, " programs: ", percent(histogram.recomputed),
      " recomputed, ", percent(histogram.deep), " at depth 3 or more, ",
      percent(histogram.rescued), " updated something with evicted readers, ",
      percent(histogram.moved), " moved small values, ",
      percent(histogram.did_not_fit), " did not fit at first");
}

std::string FailureOf(const Program& program, const RunOptions& options) {
  std::string output;
  const bool right =
      RunInChild([&] { return IsRight(RunProgram(program, options)); },
                 kSecondsOfAProgram, &output);
  if (right) return "";
  return output.empty() ? "it ended without a word\n" : output;
}

std::string FailureOf(const std::string& program) {
  const absl::StatusOr<Program> read = Parse(program);
  return read.ok() ? FailureOf(*read) : read.status().ToString();
}

std::string Explain(const Program& failing, const RunOptions& options,
                    const std::string& what) {
  const auto fails = [&](const Program& program) {
    const std::string failure = FailureOf(program, options);
    return !failure.empty() && absl::StrContains(failure, what);
  };
  if (!fails(failing)) {
    return absl::StrCat("seed ", failing.seed,
                        " failed among others and does not fail alone:\n",
                        ToString(failing));
  }
  const Program least = Shrink(failing, fails);
  return absl::StrCat("seed ", failing.seed, ": ", FailureOf(failing, options),
                      "the smallest program that fails:\n", ToString(least),
                      FailureOf(least, options));
}

Report RunCampaign(Level level, DeviceKind device, uint32_t programs,
                   const RunOptions& options) {
  void* const shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  RK_CHECK(shared != MAP_FAILED, "no shared memory");
  Progress& progress = *new (shared) Progress;
  auto unmap =
      absl::MakeCleanup([shared] { munmap(shared, sizeof(Progress)); });
  const bool right = RunInChild(
      [&] { return RunAll(level, device, programs, options, progress); },
      kSecondsOfACampaign);
  Report report;
  report.histogram = progress.histogram;
  if (!right) {
    report.failure = Explain(
        ProgramOf(level, device, progress.seed, progress.limited), options);
  }
  return report;
}

}  // namespace rekindle::programs
