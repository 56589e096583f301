// SPDX-License-Identifier: Apache-2.0
// Every verb of a workload fails in turn, on the devices that work at once.
// (The CUDA backend has a sweep of its own, by driver call.)
#include "absl/strings/str_cat.h"
#include "rekindle/base/units.h"
#include "rekindle/device/fault_injecting_device.h"
#include "rekindle/device/host/host_device.h"
#include "tests/base/status_matchers.h"
#include "tests/device/workload.h"

namespace rekindle {
namespace {

using testing::HasSubstr;
using Verb = FaultInjectingDevice::Verb;

TEST(FailureSweepTest, EveryVerbOnTheHost) {
  const auto host = HostDevice::Open({.capacity = kMiB}).value();
  for (int64_t n = 1;; ++n) {
    SCOPED_TRACE(absl::StrCat("verb ", n));
    FaultInjectingDevice device(*host);
    device.FailCall(Verb::kAny, n, absl::UnavailableError("injected"));
    const absl::Status status = Workload(device).Run();
    if (device.failures() == 0) {
      EXPECT_THAT(status, IsOk());
      EXPECT_GT(n, 50);
      break;
    }
    EXPECT_THAT(std::string(status.message()), HasSubstr("injected"));
    EXPECT_EQ(host->memory_info().created, 0u);
    host->CheckInvariants();
    ASSERT_THAT(Workload(device).Run(), IsOk());
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace rekindle
