// SPDX-License-Identifier: Apache-2.0
// Every device call, every driver call and every kernel run of random programs
// fails in turn. Each time the error says so, nothing has changed, and the
// program goes on to the right bits.
#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/programs/child_process.h"
#include "tests/programs/interpreter.h"
#include "tests/programs/make_program.h"
#include "tests/programs/shrink.h"

namespace rekindle::programs {
namespace {

constexpr int kOperations = 30;
constexpr unsigned kSeconds = 100;
// The most faults of one kind in one program.
constexpr int64_t kMostFaults = 150;

int64_t CallsOf(Fault::Kind kind, const Outcome& outcome) {
  switch (kind) {
    case Fault::Kind::kDeviceCall:
      return outcome.device_calls;
    case Fault::Kind::kDriverCall:
      return outcome.driver_calls;
    default:
      return outcome.kernel_runs;
  }
}

// Prints what is wrong with the first run that goes wrong.
bool EveryFaultIsSurvived(const Program& program, Fault fault) {
  RunOptions options;
  options.fault = fault;
  options.fault.at = int64_t{1} << 60;
  const int64_t calls = CallsOf(fault.kind, RunProgram(program, options));
  const int64_t stride = 1 + calls / kMostFaults;
  for (fault.at = 1; fault.at <= calls; fault.at += stride) {
    options.fault = fault;
    const Outcome outcome = RunProgram(program, options);
    const bool right = outcome.failure.empty() && outcome.faulted &&
                       !::testing::Test::HasFailure();
    if (right) continue;
    std::printf("fault %lld of %lld: %s\n", static_cast<long long>(fault.at),
                static_cast<long long>(calls),
                outcome.faulted ? outcome.failure.c_str() : "never came");
    return false;
  }
  return true;
}

std::string FailureOf(const Program& program, const Fault& fault) {
  std::string output;
  const bool right = RunInChild(
      [&] { return EveryFaultIsSurvived(program, fault); }, kSeconds, &output);
  return right ? "" : output;
}

void Sweep(Level level, DeviceKind device, Fault fault, uint32_t programs) {
  for (uint32_t seed = 1; seed <= programs && !::testing::Test::HasFailure();
       ++seed) {
    Program program = MakeProgram(seed, level, device, kOperations);
    program.budget = RandomBudget(seed) / 2;
    // A value check that fails to read what a call wrote over a constant comes
    // too late to leave all as it was.
    program.verify = false;
    const std::string failure = FailureOf(program, fault);
    if (failure.empty()) continue;
    const Program least = Shrink(
        program,
        [&fault](const Program& p) { return !FailureOf(p, fault).empty(); },
        500);
    FAIL() << "seed " << seed << ": " << failure
           << "the smallest program that fails:\n"
           << ToString(least) << FailureOf(least, fault);
  }
}

constexpr uint32_t kPrograms = std::max(REKINDLE_RANDOM_PROGRAMS / 250, 2);

class RandomFaultsTest : public ::testing::TestWithParam<Level> {};

TEST_P(RandomFaultsTest, DeviceCallsMayFail) {
  for (const DeviceKind device : {DeviceKind::kHost, DeviceKind::kQueued}) {
    Sweep(GetParam(), device, {Fault::Kind::kDeviceCall}, kPrograms);
  }
}

TEST_P(RandomFaultsTest, TheDeviceMayHaveNoMore) {
  const Fault fault{Fault::Kind::kDeviceCall, 0,
                    absl::StatusCode::kResourceExhausted};
  Sweep(GetParam(), DeviceKind::kHost, fault, kPrograms);
}

TEST_P(RandomFaultsTest, DriverCallsMayFail) {
  Sweep(GetParam(), DeviceKind::kQueued, {Fault::Kind::kDriverCall}, kPrograms);
}

TEST_P(RandomFaultsTest, KernelsMayFail) {
  for (const DeviceKind device : {DeviceKind::kHost, DeviceKind::kQueued}) {
    Sweep(GetParam(), device, {Fault::Kind::kKernelError}, kPrograms);
  }
}

TEST_P(RandomFaultsTest, KernelsMayThrow) {
  Sweep(GetParam(), DeviceKind::kHost, {Fault::Kind::kKernelThrows}, kPrograms);
}

INSTANTIATE_TEST_SUITE_P(Levels, RandomFaultsTest,
                         ::testing::Values(Level::kEngine, Level::kRuntime),
                         [](const ::testing::TestParamInfo<Level>& level) {
                           return level.param == Level::kEngine ? "Engine"
                                                                : "Runtime";
                         });

}  // namespace
}  // namespace rekindle::programs
