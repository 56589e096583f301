// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/program.h"

#include "tests/base/status_matchers.h"
#include "tests/programs/campaign.h"
#include "tests/programs/make_program.h"

namespace rekindle::programs {
namespace {

// Of a kind that the seed decides, too.
Program AnyProgram(uint32_t seed) {
  Program program =
      MakeProgram(seed, seed % 2 == 0 ? Level::kEngine : Level::kRuntime,
                  seed % 3 == 0 ? DeviceKind::kQueued : DeviceKind::kHost);
  program.budget = RandomBudget(seed);
  return program;
}

TEST(ProgramTest, TextIsReadBackAsTheSameProgram) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    const Program program = AnyProgram(seed);
    EXPECT_EQ(Parse(ToString(program)).value(), program) << ToString(program);
  }
}

TEST(ProgramTest, TextNamesTheSeedAndLeavesDefaultsOut) {
  Program program;
  program.seed = 7;
  program.operations.emplace_back();
  program.operations.back().operands = {3, 0};
  EXPECT_EQ(ToString(program), "program seed=7\ncall on=3,0\n");
}

TEST(ProgramTest, TextWithAMistakeIsRefused) {
  EXPECT_THAT(Parse("call on=1"), IsInvalidArgument());
  EXPECT_THAT(Parse("program seed=1\nshout"), IsInvalidArgument());
  EXPECT_THAT(Parse("program seed=1\ncall volume=3"), IsInvalidArgument());
  EXPECT_THAT(Parse("program seed=1\ncall salt=x"), IsInvalidArgument());
}

TEST(ProgramTest, SameSeedMakesTheSameProgram) {
  const auto make = [](uint32_t seed) {
    return MakeProgram(seed, Level::kEngine, DeviceKind::kHost);
  };
  EXPECT_EQ(make(5), make(5));
  EXPECT_NE(ToString(make(5)), ToString(make(6)));
}

// Else a shrunk program could be no program.
TEST(ProgramTest, AnyPartOfAProgramIsAProgram) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Program program = AnyProgram(seed);
    for (size_t i = program.operations.size(); i-- > 0;) {
      if ((seed + i) % (2 + seed % 3) != 0) continue;
      program.operations.erase(program.operations.begin() +
                               static_cast<ptrdiff_t>(i));
    }
    EXPECT_EQ(RunProgram(program).failure, "") << ToString(program);
  }
}

}  // namespace
}  // namespace rekindle::programs
