// SPDX-License-Identifier: Apache-2.0
// Queues, their order, and each rule of streams, events and contexts.
#include "tests/device/cuda/fake_work.h"

#include <set>
#include <thread>

#include "tests/device/cuda/fake_api_test.h"

namespace rekindle::cuda {
namespace {

using FakeWorkTest = FakeApiTest;

uint8_t& Byte(DevicePointer address) {
  return *reinterpret_cast<uint8_t*>(address);  // NOLINT
}

TEST_F(FakeWorkTest, WorkRunsOnlyWhenForced) {
  const DevicePointer address = Ready(1);
  const StreamHandle stream = CreateStream();
  Byte(address) = 1;
  ASSERT_EQ(api_.cuMemsetD8Async(address, 9, 1, stream), Result::kSuccess);
  EXPECT_EQ(Byte(address), 1);
  EXPECT_EQ(driver_.pending(), 1);
  ASSERT_EQ(api_.cuStreamSynchronize(stream), Result::kSuccess);
  EXPECT_EQ(Byte(address), 9);
  EXPECT_EQ(driver_.pending(), 0);
}

TEST_F(FakeWorkTest, AStreamKeepsItsOrder) {
  const StreamHandle stream = CreateStream();
  std::string order;
  for (const char name : {'a', 'b', 'c'}) {
    driver_.Launch(stream, {}, [&order, name] { order += name; });
  }
  ASSERT_EQ(api_.cuStreamSynchronize(stream), Result::kSuccess);
  EXPECT_EQ(order, "abc");
}

// All orders of the work of two streams, over many seeds.
std::set<std::string> OrdersOf(bool wait, unsigned flags,
                               bool second_is_legacy = false) {
  std::set<std::string> orders;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    FakeDriverOptions options;
    options.seed = seed;
    FakeDriver driver(options);
    const DriverApi api = driver.api();
    Context context = nullptr;
    EXPECT_EQ(api.cuInit(0), Result::kSuccess);
    EXPECT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), Result::kSuccess);
    EXPECT_EQ(api.cuCtxPushCurrent(context), Result::kSuccess);
    StreamHandle first = nullptr;
    StreamHandle second = nullptr;
    EventHandle event = nullptr;
    api.cuStreamCreate(&first, flags);
    if (!second_is_legacy) api.cuStreamCreate(&second, flags);
    api.cuEventCreate(&event, kEventDisableTiming);
    std::string order;
    driver.Launch(first, {}, [&] { order += 'a'; });
    api.cuEventRecord(event, first);
    if (wait) api.cuStreamWaitEvent(second, event, 0);
    driver.Launch(second, {}, [&] { order += 'b'; });
    EXPECT_EQ(api.cuCtxSynchronize(), Result::kSuccess);
    orders.insert(order);
    ExpectNoViolations(driver);
  }
  return orders;
}

TEST(FakeOrderTest, StreamsRunInAnyOrder) {
  EXPECT_EQ(OrdersOf(false, kStreamNonBlocking).size(), 2u);
}

TEST(FakeOrderTest, AWaitOrdersStreams) {
  EXPECT_EQ(OrdersOf(true, kStreamNonBlocking), std::set<std::string>{"ab"});
}

TEST(FakeOrderTest, BlockingStreamsAndTheLegacyStreamWaitForEachOther) {
  EXPECT_EQ(OrdersOf(false, 0, /*second_is_legacy=*/true),
            std::set<std::string>{"ab"});
  EXPECT_EQ(
      OrdersOf(false, kStreamNonBlocking, /*second_is_legacy=*/true).size(),
      2u);
}

TEST_F(FakeWorkTest, AnEventHappensWhenTheWorkBeforeItIsDone) {
  const StreamHandle stream = CreateStream();
  const EventHandle event = CreateEvent();
  EXPECT_EQ(api_.cuEventQuery(event), Result::kSuccess);  // never recorded
  int ran = 0;
  for (int i = 0; i < 20; ++i) driver_.Launch(stream, {}, [&] { ++ran; });
  ASSERT_EQ(api_.cuEventRecord(event, stream), Result::kSuccess);
  EXPECT_EQ(api_.cuEventQuery(event), Result::kNotReady);
  Result result = Result::kNotReady;
  while (result == Result::kNotReady) result = api_.cuEventQuery(event);
  EXPECT_EQ(result, Result::kSuccess);
  EXPECT_EQ(ran, 20);
}

TEST_F(FakeWorkTest, AWaitIsForTheRecordBeforeIt) {
  const StreamHandle first = CreateStream();
  const StreamHandle second = CreateStream();
  const EventHandle event = CreateEvent();
  ASSERT_EQ(api_.cuStreamWaitEvent(second, event, 0), Result::kSuccess);
  ASSERT_EQ(api_.cuEventRecord(event, first), Result::kSuccess);
  ASSERT_EQ(api_.cuStreamWaitEvent(second, event, 0), Result::kSuccess);
  ASSERT_EQ(api_.cuEventDestroy(event), Result::kSuccess);
  EXPECT_EQ(api_.cuStreamSynchronize(second), Result::kSuccess);
}

TEST_F(FakeWorkTest, ADestroyedStreamStillDoesItsWork) {
  const StreamHandle stream = CreateStream();
  int ran = 0;
  for (int i = 0; i < 20; ++i) driver_.Launch(stream, {}, [&] { ++ran; });
  ASSERT_EQ(api_.cuStreamDestroy(stream), Result::kSuccess);
  EXPECT_LT(ran, 20);
  ASSERT_EQ(api_.cuCtxSynchronize(), Result::kSuccess);
  EXPECT_EQ(ran, 20);
}

TEST_F(FakeWorkTest, UnmapUnderQueuedWorkIsABreachAndTheWorkFaults) {
  const DevicePointer address = Ready(2);
  const StreamHandle stream = CreateStream();
  ASSERT_EQ(api_.cuMemsetD8Async(address + kUnit, 1, 1, stream),
            Result::kSuccess);
  EXPECT_EQ(api_.cuMemUnmap(address, kUnit), Result::kSuccess);
  ExpectBreach(api_.cuMemUnmap(address + kUnit, kUnit), "unmap-pending-work",
               Result::kSuccess);
  ExpectBreach(api_.cuStreamSynchronize(stream), "access-unmapped",
               Result::kIllegalAddress);
}

TEST_F(FakeWorkTest, WorkNeedsAccess) {
  const DevicePointer address = Reserve(1);
  ASSERT_EQ(Map(address, Create(1), 1), Result::kSuccess);
  ASSERT_EQ(api_.cuMemsetD8Async(address, 1, 1, nullptr), Result::kSuccess);
  ExpectBreach(api_.cuStreamSynchronize(nullptr), "access-not-set",
               Result::kIllegalAddress);
}

TEST_F(FakeWorkTest, WorkNeedsMemoryOfTheDevice) {
  uint8_t byte = 0;
  const auto address = reinterpret_cast<DevicePointer>(&byte);
  ASSERT_EQ(api_.cuMemsetD8Async(address, 1, 1, nullptr), Result::kSuccess);
  ExpectBreach(api_.cuStreamSynchronize(nullptr), "access-unknown",
               Result::kIllegalAddress);
  EXPECT_EQ(byte, 0);
}

TEST_F(FakeWorkTest, ProgramsOwnMemoryIsDeviceMemory) {
  const DevicePointer address = driver_.AllocateForProgram(kUnit);
  ASSERT_EQ(api_.cuMemsetD8Async(address, 3, kUnit, nullptr), Result::kSuccess);
  ASSERT_EQ(api_.cuStreamSynchronize(nullptr), Result::kSuccess);
  EXPECT_EQ(Byte(address + kUnit - 1), 3);
}

TEST_F(FakeWorkTest, AFaultStays) {
  driver_.Fault(Result::kLaunchFailed);
  StreamHandle stream = nullptr;
  EXPECT_EQ(api_.cuStreamCreate(&stream, 0), Result::kLaunchFailed);
  EXPECT_EQ(api_.cuCtxSynchronize(), Result::kLaunchFailed);
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(api_.cuMemGetInfo(&free, &total), Result::kLaunchFailed);
}

TEST_F(FakeWorkTest, CopiesOfOverlappingRangesAreABreach) {
  const DevicePointer address = Ready(1);
  ExpectBreach(api_.cuMemcpyDtoDAsync(address, address + 1, 2, nullptr),
               "copy-overlap");
  EXPECT_EQ(api_.cuMemcpyDtoDAsync(address, address + 2, 2, nullptr),
            Result::kSuccess);
}

TEST_F(FakeWorkTest, CopiesNeedHostMemory) {
  const DevicePointer address = Ready(1);
  ExpectBreach(api_.cuMemcpyHtoDAsync(address, nullptr, 1, nullptr),
               "copy-null");
  ExpectBreach(api_.cuMemcpyDtoHAsync(nullptr, address, 1, nullptr),
               "copy-null");
}

TEST_F(FakeWorkTest, PageableMemoryIsReadAtOnceAndPinnedMemoryLate) {
  const DevicePointer address = Ready(1);
  uint8_t pageable = 1;
  uint8_t pinned = 1;
  driver_.Pin(&pinned, 1);
  ASSERT_EQ(api_.cuMemcpyHtoDAsync(address, &pageable, 1, nullptr),
            Result::kSuccess);
  ASSERT_EQ(api_.cuMemcpyHtoDAsync(address + 1, &pinned, 1, nullptr),
            Result::kSuccess);
  pageable = pinned = 2;
  ASSERT_EQ(api_.cuStreamSynchronize(nullptr), Result::kSuccess);
  EXPECT_EQ(Byte(address), 1);
  EXPECT_EQ(Byte(address + 1), 2);
}

TEST_F(FakeWorkTest, HandlesThatAreGoneAreABreach) {
  const DevicePointer address = Ready(1);
  const StreamHandle stream = CreateStream();
  const EventHandle event = CreateEvent();
  ASSERT_EQ(api_.cuStreamDestroy(stream), Result::kSuccess);
  ASSERT_EQ(api_.cuEventDestroy(event), Result::kSuccess);
  constexpr Result kRefused = Result::kInvalidHandle;
  ExpectBreach(api_.cuStreamDestroy(stream), "destroyed-stream", kRefused);
  ExpectBreach(api_.cuStreamSynchronize(stream), "destroyed-stream", kRefused);
  ExpectBreach(api_.cuMemsetD8Async(address, 0, 1, stream), "destroyed-stream",
               kRefused);
  CaptureStatus status;
  ExpectBreach(api_.cuStreamIsCapturing(stream, &status), "destroyed-stream",
               kRefused);
  ExpectBreach(api_.cuEventDestroy(event), "destroyed-event", kRefused);
  ExpectBreach(api_.cuEventQuery(event), "destroyed-event", kRefused);
  ExpectBreach(api_.cuEventRecord(event, nullptr), "destroyed-event", kRefused);
  ExpectBreach(api_.cuStreamWaitEvent(nullptr, event, 0), "destroyed-event",
               kRefused);
  const auto stray = reinterpret_cast<uintptr_t>(event) + 1000;
  ExpectBreach(api_.cuStreamSynchronize(reinterpret_cast<StreamHandle>(stray)),
               "unknown-stream", kRefused);
  ExpectBreach(api_.cuEventQuery(reinterpret_cast<EventHandle>(stray)),
               "unknown-event", kRefused);
}

TEST_F(FakeWorkTest, CapturedStreamsAndEventsCannotBeWaitedFor) {
  const StreamHandle blocking = CreateStream(0);
  const EventHandle event = CreateEvent();
  const DevicePointer address = Ready(1);
  ASSERT_EQ(driver_.BeginCapture(blocking), Result::kSuccess);
  CaptureStatus status = CaptureStatus::kNone;
  EXPECT_EQ(api_.cuStreamIsCapturing(blocking, &status), Result::kSuccess);
  EXPECT_EQ(status, CaptureStatus::kActive);
  EXPECT_EQ(api_.cuStreamIsCapturing(nullptr, &status),
            Result::kCaptureImplicit);
  ExpectBreach(api_.cuStreamSynchronize(blocking), "sync-in-capture",
               Result::kCaptureUnsupported);
  ASSERT_EQ(api_.cuEventRecord(event, blocking), Result::kSuccess);
  ExpectBreach(api_.cuEventQuery(event), "query-in-capture",
               Result::kCapturedEvent);
  ExpectBreach(api_.cuMemsetD8Async(address, 0, 1, nullptr),
               "legacy-in-capture", Result::kCaptureImplicit);
  ASSERT_EQ(api_.cuMemsetD8Async(address, 0, 1, blocking), Result::kSuccess);
  ASSERT_EQ(driver_.EndCapture(blocking), Result::kSuccess);
  EXPECT_EQ(driver_.pending(), 0);
}

// Contexts. -------------------------------------------------------------------

TEST_F(FakeWorkTest, EachThreadNeedsTheContext) {
  std::thread([&] {
    StreamHandle stream = nullptr;
    ExpectBreach(api_.cuStreamCreate(&stream, 0), "no-current-context",
                 Result::kInvalidContext);
    Context popped = nullptr;
    ExpectBreach(api_.cuCtxPopCurrent(&popped), "pop-without-push",
                 Result::kInvalidContext);
  }).join();
}

TEST_F(FakeWorkTest, AContextEndsWithItsLastReference) {
  EXPECT_EQ(api_.cuDevicePrimaryCtxRelease(0), Result::kSuccess);
  ExpectBreach(api_.cuDevicePrimaryCtxRelease(0), "release-without-retain",
               Result::kInvalidContext);
  ExpectBreach(api_.cuCtxPushCurrent(context_), "dead-context",
               Result::kInvalidContext);
}

TEST(FakeInitTest, CallsComeAfterInit) {
  FakeDriver driver;
  int count = 0;
  EXPECT_EQ(driver.api().cuDeviceGetCount(&count), Result::kNotInitialized);
  EXPECT_TRUE(driver.TakeViolation("not-initialized"));
}

// Failures and time. ----------------------------------------------------------

TEST_F(FakeWorkTest, ChosenCallsFail) {
  const AllocationProperties properties = DeviceMemory(0);
  AllocationHandle handle = 0;
  driver_.FailCall("cuMemCreate", 2, Result::kOutOfMemory);
  EXPECT_EQ(api_.cuMemCreate(&handle, kUnit, &properties, 0), Result::kSuccess);
  EXPECT_EQ(driver_.last_failed(), "");
  EXPECT_EQ(api_.cuMemCreate(&handle, kUnit, &properties, 0),
            Result::kOutOfMemory);
  EXPECT_EQ(driver_.last_failed(), "cuMemCreate");
  EXPECT_EQ(api_.cuMemCreate(&handle, kUnit, &properties, 0), Result::kSuccess);
  EXPECT_EQ(driver_.calls("cuMemCreate"), 3);
  EXPECT_EQ(driver_.leaks().handles, 2);
  driver_.FailCall("", 1, Result::kUnknown);
  EXPECT_EQ(api_.cuMemRelease(handle), Result::kUnknown);
}

class FakeLatencyTest : public FakeApiTest {
 protected:
  static FakeDriverOptions Timed(bool access_per_chunk) {
    FakeDriverOptions options = Options();
    options.latency = FakeLatency::A100();
    options.latency.access_per_chunk = access_per_chunk;
    return options;
  }
  explicit FakeLatencyTest(bool access_per_chunk = false)
      : FakeApiTest(Timed(access_per_chunk)) {}
};

TEST_F(FakeLatencyTest, CallsTakeWhatTheModelSays) {
  const FakeLatency model = FakeLatency::A100();
  const DevicePointer address = Ready(3);
  auto expected =
      model.reserve + 3 * (model.create + model.map) + model.set_access;
  EXPECT_EQ(driver_.now(), expected);
  ASSERT_EQ(api_.cuMemUnmap(address, 3 * kUnit), Result::kSuccess);
  expected += model.unmap;
  EXPECT_EQ(driver_.now(), expected);
  ExpectBreach(api_.cuMemUnmap(address, kUnit), "unmap-not-mapped");
  EXPECT_EQ(driver_.now(), expected);
}

class FakeLatencyPerChunkTest : public FakeLatencyTest {
 protected:
  FakeLatencyPerChunkTest() : FakeLatencyTest(/*access_per_chunk=*/true) {}
};

TEST_F(FakeLatencyPerChunkTest, AccessTakesTimeForEachChunk) {
  const FakeLatency model = FakeLatency::A100();
  Ready(3);
  EXPECT_EQ(driver_.now(),
            model.reserve + 3 * (model.create + model.map + model.set_access));
}

}  // namespace
}  // namespace rekindle::cuda
