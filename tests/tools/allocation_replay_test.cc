// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/allocation_replay.h"

#include <filesystem>

#include "rekindle/base/units.h"
#include "tests/base/data_folder.h"
#include "tests/base/status_matchers.h"

namespace rekindle::tools {
namespace {

AllocationTrace Trace(const std::string& rows) {
  return ParseAllocationTrace("t.csv", "op,id,size\n" + rows).value();
}

TEST(AllocationReplayTest, SurvivorsAreFreedBetweenPasses) {
  const AllocationTrace trace = Trace("A,0,3000000\nA,1,5000000\nF,0,\n");
  const auto result = Replay(trace, {.budget = 10 * kMiB, .passes = 5});
  ASSERT_THAT(result, IsOk());
  EXPECT_TRUE(result->completed());
  ASSERT_EQ(result->vmm_calls.size(), 5u);
  EXPECT_GT(result->vmm_calls[0], 0);
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(result->vmm_calls[i], 0);
}

TEST(AllocationReplayTest, WhatDoesNotFitStopsThere) {
  const AllocationTrace trace = Trace("A,0,3000000\nA,1,5000000\n");
  const auto result = Replay(trace, {.budget = 6 * kMiB});
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(result->failure, testing::StartsWith("pass 1, operation 2: "));
  EXPECT_TRUE(result->vmm_calls.empty());
  EXPECT_LE(result->peak_physical_bytes, 6 * kMiB);
}

TEST(AllocationReplayTest, ABudgetBelowOneChunkHoldsNothing) {
  const auto result = Replay(Trace("A,0,1\n"), {.budget = 100});
  ASSERT_THAT(result, IsOk());
  EXPECT_FALSE(result->completed());
  EXPECT_EQ(result->peak_physical_bytes, 0u);
  EXPECT_TRUE(Replay(Trace("A,0,0\n"), {.budget = 100})->completed());
}

TEST(AllocationReplayTest, ChunksThatAreFarTooManyAreRefused) {
  const AllocationTrace trace = Trace("A,0,16000000000000\n");
  EXPECT_THAT(Replay(trace, {.budget = kMostTraceBytes, .granularity = 512}),
              IsInvalidArgument());
}

// Recorded training and inference: nearly nothing is lost, and a second pass
// has what it needs where it needs it.
TEST(AllocationReplayDataTest, RecordedTracesFitTightlyAndSettle) {
  const std::string folder = DataFolder();
  if (folder.empty()) GTEST_SKIP() << "skipped: no data";
  int traces = 0;
  int settled = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(folder + "/alloc_traces")) {
    SCOPED_TRACE(file.path().string());
    const auto trace = ReadAllocationTrace(file.path().string());
    ASSERT_THAT(trace, IsOk());
    const auto replay = [&](double budget) {
      const double peak = static_cast<double>(trace->peak_live_bytes);
      ReplayOptions options;
      options.budget = static_cast<size_t>(peak * budget);
      const ReplayResult result = Replay(*trace, options).value();
      EXPECT_EQ(result.failure, "");
      EXPECT_LE(result.peak_physical_bytes, options.budget);
      return result.vmm_calls;
    };
    replay(1.008);
    settled += replay(1.01).at(1) == 0 ? 1 : 0;
    EXPECT_EQ(replay(1.03).at(1), 0);
    ++traces;
  }
  EXPECT_GE(settled, traces - 1);
}

}  // namespace
}  // namespace rekindle::tools
