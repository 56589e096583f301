// SPDX-License-Identifier: Apache-2.0
// Every driver call of a workload fails in turn.
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/base/status_matchers.h"
#include "tests/device/cuda/fake_test.h"
#include "tests/device/workload.h"

namespace rekindle {
namespace {

using cuda::FakeCudaDevice;
using cuda::FakeDriverOptions;
using cuda::FakeLeaks;
using cuda::Result;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

FakeDriverOptions Options(uint64_t seed) {
  FakeDriverOptions options;
  options.granularity = 64 * kKiB;
  options.seed = seed;
  return options;
}

std::unique_ptr<FakeCudaDevice> OpenQuiet(uint64_t seed) {
  return FakeCudaDevice::Open(Options(seed), Log(LogLevel::kQuiet));
}

// Everything given back but the streams kept for later.
void ExpectOnlyIdleStreams(const FakeLeaks& leaks) {
  EXPECT_EQ(leaks.handles, 0);
  EXPECT_EQ(leaks.reservations, 0);
  EXPECT_EQ(leaks.mappings, 0);
  EXPECT_EQ(leaks.events, 0);
  EXPECT_LE(leaks.streams, 4);
  EXPECT_EQ(leaks.context_references, 1);
}

void ExpectNamed(const absl::Status& status, const std::string& call) {
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr(call));
  EXPECT_THAT(message, AnyOf(ContainsRegex("^[a-z ]+ of [0-9.]+ [KMG]?i?B: "),
                             ContainsRegex("^[a-z ]*(stream|event)[a-z ]*: ")));
}

// Fails call number `n` of a workload; false once there is no such call.
bool FailOne(uint64_t seed, int64_t n, Result result, absl::StatusCode code) {
  const auto device = OpenQuiet(seed);
  cuda::FakeDriver& driver = device->driver();
  driver.FailCall("", n, result);
  const absl::Status status = Workload(*device).Run();
  const std::string call = driver.last_failed();
  if (call.empty()) {
    EXPECT_THAT(status, IsOk());
    driver.ClearFailures();
    return false;
  }
  SCOPED_TRACE(absl::StrCat("seed ", seed, ", call ", n, ", ", call));
  if (call == "cuCtxPopCurrent") {  // the verb is done; it is only logged
    EXPECT_THAT(status, IsOk());
    EXPECT_EQ(driver.leaks().contexts_pushed, 1);
    cuda::Context popped = nullptr;
    EXPECT_EQ(driver.api().cuCtxPopCurrent(&popped), Result::kSuccess);
  } else {
    EXPECT_EQ(status.code(), code);
    ExpectNamed(status, call);
  }
  EXPECT_EQ(driver.leaks().contexts_pushed, 0);
  ExpectOnlyIdleStreams(driver.leaks());
  device->cuda().CheckInvariants();
  EXPECT_THAT(Workload(*device).Run(), IsOk());
  ExpectOnlyIdleStreams(driver.leaks());
  return !testing::Test::HasFailure();
}

TEST(FailureSweepTest, EveryCallOfAWorkload) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    int64_t n = 1;
    while (FailOne(seed, n, Result::kOutOfMemory,
                   absl::StatusCode::kResourceExhausted)) {
      ++n;
    }
    EXPECT_GT(n, 200) << "seed " << seed;
    n = 1;
    while (FailOne(seed, n, Result::kUnknown, absl::StatusCode::kInternal)) ++n;
  }
}

// The workload leaves out no entry point that CudaDevice calls when open.
TEST(FailureSweepTest, TheWorkloadCallsAllThereIs) {
  const auto device = OpenQuiet(1);
  EXPECT_THAT(Workload(*device).Run(), IsOk());
  EXPECT_EQ(device->memory_info().created, 0u);
#define RK_CUDA_EXPECT(entry, ...)                                \
  EXPECT_TRUE(device->driver().calls(#entry) > 0 ||               \
              std::string(#entry) == "cuCtxSynchronize" ||        \
              std::string(#entry) == "cuStreamDestroy" ||         \
              std::string(#entry) == "cuDevicePrimaryCtxRelease") \
      << #entry;
  RK_CUDA_ENTRY_POINTS(RK_CUDA_EXPECT)
#undef RK_CUDA_EXPECT
}

// After an error that stays, nothing works, and the end is still orderly.
TEST(FailureSweepTest, EveryCallLosesTheDevice) {
  for (int64_t n = 1;; ++n) {
    const auto device = OpenQuiet(1);
    cuda::FakeDriver& driver = device->driver();
    driver.FailCall("", n, Result::kLaunchFailed);
    const DeviceAddress range = device->Reserve(64 * kKiB).value_or(0);
    const absl::StatusOr<ChunkId> chunk = device->Create(64 * kKiB);
    if (range != 0 && chunk.ok()) {
      device->Map(range, {*chunk}).IgnoreError();
      device->Fill(range, 1, 64 * kKiB, Stream()).IgnoreError();
    }
    driver.ClearFailures();
    if (driver.last_failed().empty()) break;
    if (driver.last_failed() == "cuCtxPopCurrent") {  // only logged
      cuda::Context popped = nullptr;
      driver.api().cuCtxPopCurrent(&popped);
      continue;
    }
    EXPECT_EQ(device->Synchronize(Stream()).code(),
              absl::StatusCode::kInternal);
    device->cuda().CheckInvariants();
  }
}

TEST(FailureSweepTest, EveryCallOfOpening) {
  for (int64_t n = 1;; ++n) {
    cuda::FakeDriver driver(Options(1));
    driver.FailCall("", n, Result::kUnknown);
    const absl::Status status = CudaDevice::Open(0, driver.source()).status();
    cuda::ExpectNoLeaks(driver);
    cuda::ExpectNoViolations(driver);
    if (status.ok()) {
      EXPECT_GT(n, 7);
      break;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr(driver.last_failed()));
  }
}

}  // namespace
}  // namespace rekindle
