// SPDX-License-Identifier: Apache-2.0
// The allocator under streams whose work runs in every order that the waits
// allow, and with each call failing in turn.
#include <memory>
#include <vector>

#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "tests/allocator/kernel_bytes.h"
#include "tests/allocator/stream_workload.h"
#include "tests/base/status_matchers.h"
#include "tests/device/cuda/fake_test.h"

namespace rekindle {
namespace {

using cuda::FakeCudaDevice;
using cuda::FakeDriverOptions;

constexpr size_t kChunk = 64 * kKiB;
constexpr size_t kBudget = 12 * kChunk;
constexpr StreamWorkloadOptions kUsual = {.largest_block = 5 * kChunk,
                                          .upheaval_every = 25};

FakeDriverOptions Options(uint64_t seed) {
  FakeDriverOptions options;
  options.granularity = kChunk;
  options.seed = seed;
  return options;
}

std::unique_ptr<Allocator> OpenVmm(Device& device) {
  return VmmAllocator::Create(device, {.budget = kBudget}).value();
}

// A device that forgets to let streams wait.
class NoWaits : public FaultInjectingDevice {
 public:
  using FaultInjectingDevice::FaultInjectingDevice;
  absl::Status StreamWait(Stream, Event) override { return absl::OkStatus(); }
};

// One run; whether all bytes were right and no rule was broken. `seen` is the
// device as the allocator sees it.
bool RunsRight(FakeCudaDevice& device, Device& seen, uint64_t seed, int steps,
               const StreamWorkloadOptions& options) {
  auto allocator = OpenVmm(seen);
  cuda::KernelBytes bytes(device.driver());
  StreamWorkload workload(device, *allocator, bytes, seed, options);
  absl::Status status = workload.Open();
  for (int done = 0; done < steps; done += 20) {
    status.Update(workload.Run(20));
    allocator->CheckInvariants();
  }
  status.Update(workload.FreeAll());
  // What goes wrong had better do so before the allocator is at its end.
  device.driver().RunSome(static_cast<size_t>(device.driver().pending()));
  const bool right = status.ok() && device.driver().violations().empty();
  if (!right) device.driver().Repair();
  allocator.reset();
  workload.EndStreams();
  return right && device.driver().violations().empty() && bytes.wrong() == 0;
}

TEST(StreamOrderRandomTest, EveryOrderGivesTheRightBytes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto device = FakeCudaDevice::Open(Options(seed));
    EXPECT_TRUE(RunsRight(*device, *device, seed, 300, kUsual))
        << "seed " << seed;
    EXPECT_GT(device->cuda().counters().unmap, 0);
    EXPECT_EQ(device->memory_info().created, 0u);
    if (HasFailure()) break;
  }
}

// Else the test above would show nothing. (Work that runs too early also
// breaks the device.)
TEST(StreamOrderRandomTest, WaitsLeftOutAreFound) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto device = FakeCudaDevice::Open(Options(seed));
    NoWaits no_waits(*device);
    StreamWorkloadOptions options = kUsual;
    options.device_fails = true;
    wrong += RunsRight(*device, no_waits, seed, 300, options) ? 0 : 1;
    for (const cuda::Violation& violation : device->driver().violations()) {
      device->driver().TakeViolation(violation.rule);
    }
  }
  EXPECT_GE(wrong, 25);
}

// While nothing moves, the host never waits for the allocator.
TEST(StreamOrderRandomTest, WithRoomTheHostNeverWaits) {
  const auto device = FakeCudaDevice::Open(Options(1));
  auto allocator = VmmAllocator::Create(*device, {.budget = kGiB / 2}).value();
  cuda::KernelBytes bytes(device->driver());
  StreamWorkload workload(*device, *allocator, bytes, 1,
                          {.largest_block = 5 * kChunk});
  ASSERT_THAT(workload.Open(), IsOk());
  ASSERT_THAT(workload.Run(2000), IsOk());
  ASSERT_THAT(workload.FreeAll(), IsOk());
  EXPECT_EQ(device->counters().synchronize, 0);
  EXPECT_EQ(device->counters().unmap, 0);
  allocator.reset();
  workload.EndStreams();
  EXPECT_EQ(bytes.wrong(), 0);
}

}  // namespace
}  // namespace rekindle
