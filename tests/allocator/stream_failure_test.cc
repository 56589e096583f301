// SPDX-License-Identifier: Apache-2.0
// Every call of a workload on four streams fails in turn: device verbs on the
// host, driver calls on a GPU that is fake.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/host/host_device.h"
#include "tests/allocator/kernel_bytes.h"
#include "tests/allocator/stream_workload.h"
#include "tests/base/status_matchers.h"
#include "tests/device/cuda/fake_test.h"

namespace rekindle {
namespace {

using cuda::FakeCudaDevice;
using cuda::FakeDriverOptions;
using cuda::FakeLeaks;
using cuda::Result;
using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using Verb = FaultInjectingDevice::Verb;

constexpr size_t kChunk = 64 * kKiB;
constexpr size_t kBudget = 8 * kChunk;
constexpr int kSteps = 60;

// From the allocator's first call to its last, with upheavals often enough that
// every verb is among them. The first error, whoever met it.
absl::Status RunAll(Device& device, StreamBytes& bytes) {
  auto allocator = VmmAllocator::Create(device, {.budget = kBudget});
  if (!allocator.ok()) return allocator.status();
  StreamWorkload workload(
      device, **allocator, bytes, 3,
      {.largest_block = 4 * kChunk, .upheaval_every = 6, .device_fails = true});
  absl::Status status = workload.Open();
  if (status.ok()) {
    status = workload.Run(kSteps);
    (*allocator)->CheckInvariants();
  }
  status.Update(workload.FreeAll());
  (*allocator)->CheckInvariants();
  EXPECT_EQ((*allocator)->stats().live_blocks, 0);
  allocator = absl::CancelledError("its end gives all back");
  workload.EndStreams();
  EXPECT_EQ(bytes.wrong(), 0);
  EXPECT_EQ(device.memory_info().created, 0u);
  EXPECT_LE(device.memory_info().peak_created, kBudget);
  return status;
}

std::unique_ptr<FakeCudaDevice> OpenFake() {
  FakeDriverOptions options;
  options.granularity = kChunk;
  return FakeCudaDevice::Open(options, Log(LogLevel::kQuiet));
}

// Counts what is alive of everything that a device gives out.
class CountedDevice : public FaultInjectingDevice {
 public:
  using FaultInjectingDevice::FaultInjectingDevice;

  int64_t ranges() const { return ranges_; }
  int64_t streams() const { return streams_; }
  int64_t events() const { return events_; }

  absl::StatusOr<DeviceAddress> Reserve(size_t bytes) override {
    return Up(FaultInjectingDevice::Reserve(bytes), ranges_);
  }
  absl::Status Release(DeviceAddress address, size_t bytes) override {
    return Down(FaultInjectingDevice::Release(address, bytes), ranges_);
  }
  absl::StatusOr<Stream> CreateStream() override {
    return Up(FaultInjectingDevice::CreateStream(), streams_);
  }
  absl::Status DestroyStream(Stream stream) override {
    return Down(FaultInjectingDevice::DestroyStream(stream), streams_);
  }
  absl::StatusOr<Event> CreateEvent() override {
    return Up(FaultInjectingDevice::CreateEvent(), events_);
  }
  absl::Status DestroyEvent(Event event) override {
    return Down(FaultInjectingDevice::DestroyEvent(event), events_);
  }

 private:
  template <typename T>
  static absl::StatusOr<T> Up(absl::StatusOr<T> made, int64_t& count) {
    count += made.ok() ? 1 : 0;
    return made;
  }
  static absl::Status Down(absl::Status ended, int64_t& count) {
    count -= ended.ok() ? 1 : 0;
    return ended;
  }

  int64_t ranges_ = 0;
  int64_t streams_ = 0;
  int64_t events_ = 0;
};

// Fails verb number `n`; false once there is no such verb.
bool FailVerb(HostDevice& host, int64_t n, const absl::Status& error) {
  CountedDevice device(host);
  device.FailCall(Verb::kAny, n, error);
  VerbBytes bytes(device);
  const absl::Status status = RunAll(device, bytes);
  EXPECT_TRUE(status.ok() || status == error) << status;
  EXPECT_EQ(device.ranges(), 0);
  EXPECT_EQ(device.streams(), 0);
  EXPECT_EQ(device.events(), 0);
  host.CheckInvariants();
  if (device.failures() == 0) return false;
  EXPECT_THAT(RunAll(device, bytes), IsOk());
  return !testing::Test::HasFailure();
}

TEST(StreamFailureTest, EveryVerbOnTheHost) {
  for (const absl::Status& error : {absl::UnavailableError("injected"),
                                    absl::ResourceExhaustedError("injected")}) {
    const auto host =
        HostDevice::Open({.capacity = kMiB, .granularity = kChunk}).value();
    int64_t n = 1;
    while (FailVerb(*host, n, error)) ++n;
    ASSERT_FALSE(HasFailure()) << error << " of verb " << n;
    EXPECT_GT(n, 150);
  }
}

// The run that the sweeps repeat has every verb in it but one, Copy.
TEST(StreamFailureTest, TheWorkloadCallsEveryVerb) {
  const auto fake = OpenFake();
  VerbBytes bytes(*fake);
  ASSERT_THAT(RunAll(*fake, bytes), IsOk());
  for (int verb = 0; verb < static_cast<int>(Verb::kAny); ++verb) {
    if (verb == static_cast<int>(Verb::kCopy)) continue;
    if (verb == static_cast<int>(Verb::kCopyFromHost)) continue;
    EXPECT_GT(fake->calls(static_cast<Verb>(verb)), 0) << "verb " << verb;
  }
}

void ExpectNamed(const absl::Status& status, const std::string& call) {
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr(call));
  EXPECT_THAT(message, AnyOf(ContainsRegex("^[a-z ]+ of [0-9.]+ [KMG]?i?B: "),
                             ContainsRegex("^[a-z ]*(stream|event)[a-z ]*: ")));
}

void ExpectOnlyIdleStreams(const FakeLeaks& leaks) {
  EXPECT_EQ(leaks.handles, 0);
  EXPECT_EQ(leaks.reservations, 0);
  EXPECT_EQ(leaks.mappings, 0);
  EXPECT_EQ(leaks.events, 0);
  EXPECT_LE(leaks.streams, 6);
  EXPECT_EQ(leaks.contexts_pushed, 0);
}

// Fails driver call number `n`; false once there is no such call.
bool FailDriverCall(int64_t n, Result result) {
  const auto device = OpenFake();
  cuda::FakeDriver& driver = device->driver();
  cuda::KernelBytes bytes(driver);
  driver.FailCall("", n, result);
  const absl::Status status = RunAll(*device, bytes);
  const std::string call = driver.last_failed();
  driver.ClearFailures();
  SCOPED_TRACE(absl::StrCat("call ", n, ", ", call));
  if (call == "cuCtxPopCurrent") {  // the verb is done; it is only logged
    cuda::Context popped = nullptr;
    EXPECT_EQ(driver.api().cuCtxPopCurrent(&popped), Result::kSuccess);
  }
  if (!status.ok()) ExpectNamed(status, call);
  ExpectOnlyIdleStreams(driver.leaks());
  device->cuda().CheckInvariants();
  if (call.empty()) {
    EXPECT_THAT(status, IsOk());
    return false;
  }
  EXPECT_THAT(RunAll(*device, bytes), IsOk());
  ExpectOnlyIdleStreams(driver.leaks());
  return !testing::Test::HasFailure();
}

TEST(StreamFailureTest, EveryDriverCall) {
  for (const Result result : {Result::kOutOfMemory, Result::kUnknown}) {
    int64_t n = 1;
    while (FailDriverCall(n, result)) ++n;
    ASSERT_FALSE(HasFailure()) << "call " << n;
    EXPECT_GT(n, 500);
  }
}

}  // namespace
}  // namespace rekindle
