// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/shrink.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/programs/child_process.h"
#include "tests/programs/make_program.h"

namespace rekindle::programs {
namespace {

using ::testing::HasSubstr;

bool IsEvictThenWrite(const Program& program) {
  const auto is = [](Action action) {
    return [action](const Operation& o) { return o.action == action; };
  };
  const auto& all = program.operations;
  const auto evict = std::find_if(all.begin(), all.end(), is(Action::kEvict));
  return std::find_if(evict, all.end(), is(Action::kWrite)) != all.end();
}

Program Failing() {
  for (uint32_t seed = 1;; ++seed) {
    const Program program =
        MakeProgram(seed, Level::kEngine, DeviceKind::kHost, 200);
    if (IsEvictThenWrite(program)) return program;
  }
}

TEST(ShrinkTest, OnlyTheOperationsThatMatterAreLeft) {
  const Program least = Shrink(Failing(), IsEvictThenWrite);
  ASSERT_EQ(least.operations.size(), 2u) << ToString(least);
  EXPECT_EQ(least.operations[0].action, Action::kEvict);
  EXPECT_EQ(least.operations[1].action, Action::kWrite);
}

TEST(ShrinkTest, OperationsBecomePlain) {
  const auto fails = [](const Program& program) {
    return std::any_of(
        program.operations.begin(), program.operations.end(),
        [](const Operation& o) { return o.workspace > 0 && o.mutates > 0; });
  };
  Program program = MakeProgram(1, Level::kEngine, DeviceKind::kHost, 200);
  ASSERT_TRUE(fails(program));
  program.policy = "lru";
  const Program least = Shrink(program, fails);
  ASSERT_EQ(least.operations.size(), 1u);
  Operation expected;
  expected.salt = least.operations[0].salt;
  expected.mutates = least.operations[0].mutates;
  expected.workspace = least.operations[0].workspace;
  EXPECT_EQ(least.operations[0], expected) << ToString(least);
  EXPECT_EQ(least.policy, Program().policy);
}

TEST(ShrinkTest, TakesNoMoreTriesThanAllowed) {
  int tries = 0;
  Shrink(
      Failing(),
      [&tries](const Program& program) {
        ++tries;
        return IsEvictThenWrite(program);
      },
      10);
  EXPECT_EQ(tries, 10);
}

TEST(ChildProcessTest, TellsRightFromWrong) {
  EXPECT_TRUE(RunInChild([] { return true; }, 10));
  EXPECT_FALSE(RunInChild([] { return false; }, 10));
}

TEST(ChildProcessTest, SignalsAndHangsAreWrong) {
  std::string output;
  EXPECT_FALSE(RunInChild(
      []() -> bool {
        std::puts("before");
        std::abort();
      },
      10, &output));
  EXPECT_EQ(output, "before\nended by signal 6\n");
  EXPECT_FALSE(RunInChild(
      []() -> bool {
        while (true) pause();
      },
      1, &output));
  EXPECT_THAT(output, HasSubstr("took too long"));
}

}  // namespace
}  // namespace rekindle::programs
