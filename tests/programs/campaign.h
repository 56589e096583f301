// SPDX-License-Identifier: Apache-2.0
// Many random programs of one kind, and what becomes of those that fail.
#pragma once

#include <cstdint>
#include <string>

#include "tests/programs/interpreter.h"
#include "tests/programs/program.h"

namespace rekindle::programs {

// How many programs did what under their budgets.
struct Histogram {
  int64_t programs = 0;
  int64_t recomputed = 0;
  int64_t deep = 0;         // chains of three calls and more
  int64_t rescued = 0;      // updated something with evicted readers
  int64_t moved = 0;        // small values
  int64_t did_not_fit = 0;  // at first

  void Add(const Outcome& outcome);
};
std::string ToString(const Histogram& histogram);

struct Report {
  Histogram histogram;
  // The seed, what was wrong and the smallest program that still fails; empty
  // if none failed.
  std::string failure;
};

// Runs programs of the seeds 1 to `programs`, each without a limit and under a
// random budget, in a child process, until one fails.
Report RunCampaign(Level level, DeviceKind device, uint32_t programs,
                   const RunOptions& options = {});

// What is wrong with a program that may crash or hang; empty if nothing is.
std::string FailureOf(const Program& program, const RunOptions& options = {});
// The same of a program as text, for tests.
std::string FailureOf(const std::string& program);

// What is wrong with a program, and the smallest one that fails like it: whose
// failure also contains `what`.
std::string Explain(const Program& failing, const RunOptions& options,
                    const std::string& what = "");

}  // namespace rekindle::programs
