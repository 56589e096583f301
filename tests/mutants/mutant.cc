// SPDX-License-Identifier: Apache-2.0
// Runs random programs that nothing checks but their bits, and prints the
// smallest one that gets them wrong. Exits with 1 if one does.
// Usage: mutant engine|runtime host|queued
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "tests/programs/campaign.h"
#include "tests/programs/make_program.h"

int main(int argc, char** argv) {
  using namespace rekindle::programs;  // NOLINT
  constexpr uint32_t kPrograms = 2000;
  constexpr const char* kWrong = "wrong bits";
  if (argc != 3) return 2;
  const Level level =
      std::strcmp(argv[1], "engine") == 0 ? Level::kEngine : Level::kRuntime;
  const DeviceKind device = std::strcmp(argv[2], "host") == 0
                                ? DeviceKind::kHost
                                : DeviceKind::kQueued;
  RunOptions options;
  options.check_invariants = false;
  for (uint32_t seed = 1; seed <= kPrograms; ++seed) {
    Program program = MakeProgram(seed, level, device);
    program.budget = RandomBudget(seed);
    // A broken rule also makes crashes and broken rules of the driver.
    if (!absl::StrContains(FailureOf(program, options), kWrong)) continue;
    std::printf("%s\n", Explain(program, options, kWrong).c_str());
    return 1;
  }
  return 0;
}
