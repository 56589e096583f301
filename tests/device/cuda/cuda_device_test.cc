// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend promises beyond the Device contract.
#include "rekindle/device/cuda/cuda_device.h"

#include <thread>
#include <vector>

#include "tests/base/status_matchers.h"
#include "tests/device/cuda/fake_test.h"

namespace rekindle {
namespace {

using cuda::FakeCudaDevice;
using cuda::FakeDriverOptions;
using cuda::Result;
using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kUnit = 64 * kKiB;

class CudaDeviceTest : public testing::Test {
 protected:
  static FakeDriverOptions Options() {
    FakeDriverOptions options;
    options.memory = 64 * kUnit;
    options.granularity = kUnit;
    return options;
  }

  CudaDeviceTest()
      : device_(FakeCudaDevice::Open(Options())), driver_(device_->driver()) {}

  DeviceAddress Ready(size_t units) {
    const DeviceAddress address = device_->Reserve(units * kUnit).value();
    EXPECT_THAT(device_->Map(address, Create(units)), IsOk());
    return address;
  }

  std::vector<ChunkId> Create(size_t units) {
    std::vector<ChunkId> chunks;
    for (size_t i = 0; i < units; ++i) {
      chunks.push_back(device_->Create(kUnit).value());
    }
    return chunks;
  }

  // A stream of the program, made without the device.
  Stream ProgramStream(unsigned flags) {
    const cuda::DriverApi api = driver_.api();
    cuda::Context context = nullptr;
    EXPECT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), Result::kSuccess);
    EXPECT_EQ(api.cuCtxPushCurrent(context), Result::kSuccess);
    cuda::StreamHandle handle = nullptr;
    EXPECT_EQ(api.cuStreamCreate(&handle, flags), Result::kSuccess);
    EXPECT_EQ(api.cuCtxPopCurrent(&context), Result::kSuccess);
    return Stream{reinterpret_cast<uintptr_t>(handle)};
  }

  void EndProgramStream(Stream stream) {
    const cuda::DriverApi api = driver_.api();
    cuda::Context context = nullptr;
    EXPECT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), Result::kSuccess);
    EXPECT_EQ(api.cuCtxPushCurrent(context), Result::kSuccess);
    EXPECT_EQ(api.cuStreamDestroy(cuda::ToDriver(stream)), Result::kSuccess);
    EXPECT_EQ(api.cuCtxPopCurrent(&context), Result::kSuccess);
    EXPECT_EQ(api.cuDevicePrimaryCtxRelease(0), Result::kSuccess);
    EXPECT_EQ(api.cuDevicePrimaryCtxRelease(0), Result::kSuccess);
  }

  const std::unique_ptr<FakeCudaDevice> device_;
  cuda::FakeDriver& driver_;
};

TEST_F(CudaDeviceTest, NamesItself) {
  EXPECT_EQ(device_->name(), "cuda:0");
  EXPECT_EQ(device_->cuda().gpu().name, "Fake GPU");
  EXPECT_TRUE(device_->holds_bytes());
  EXPECT_EQ(device_->granularity(), kUnit);
}

TEST_F(CudaDeviceTest, GivesBackWhatTheProgramForgot) {
  const DeviceAddress address = Ready(4);
  Create(1);
  const Stream stream = device_->CreateStream().value();
  device_->CreateEvent().value();
  ASSERT_THAT(device_->Fill(address, 1, kUnit, stream), IsOk());
  EXPECT_FALSE(driver_.leaks().none());
}  // the end of `device_` checks

// Memory. ---------------------------------------------------------------------

TEST_F(CudaDeviceTest, MapSetsAccessOnceAndUnmapIsOneCall) {
  const DeviceAddress address = Ready(10);
  EXPECT_EQ(driver_.calls("cuMemMap"), 10);
  EXPECT_EQ(driver_.calls("cuMemSetAccess"), 1);
  ASSERT_THAT(device_->Unmap(address, 10 * kUnit), IsOk());
  EXPECT_EQ(driver_.calls("cuMemUnmap"), 1);
}

TEST_F(CudaDeviceTest, AMapThatFailsInTheMiddleLeavesNothing) {
  const DeviceAddress address = device_->Reserve(4 * kUnit).value();
  const std::vector<ChunkId> chunks = Create(4);
  driver_.FailCall("cuMemMap", 3, Result::kOutOfMemory);
  const absl::Status map = device_->Map(address, chunks);
  EXPECT_THAT(map, IsResourceExhausted());
  EXPECT_THAT(std::string(map.message()),
              AllOf(HasSubstr("map of 256.00 KiB"), HasSubstr("cuMemMap"),
                    HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  EXPECT_EQ(driver_.leaks().mappings, 0);
  driver_.FailCall("cuMemSetAccess", 1, Result::kOutOfMemory);
  EXPECT_THAT(device_->Map(address, chunks), IsResourceExhausted());
  EXPECT_EQ(driver_.leaks().mappings, 0);
  EXPECT_EQ(device_->counters().map, 0);
  EXPECT_THAT(device_->Map(address, chunks), IsOk());
}

TEST_F(CudaDeviceTest, AMapThatCannotBeTakenBackLosesTheDevice) {
  const DeviceAddress address = device_->Reserve(2 * kUnit).value();
  const std::vector<ChunkId> chunks = Create(2);
  driver_.FailCall("cuMemSetAccess", 1, Result::kOutOfMemory);
  driver_.FailCall("cuMemUnmap", 1, Result::kUnknown);
  EXPECT_THAT(device_->Map(address, chunks), IsResourceExhausted());
  const absl::Status later = device_->Map(address, chunks);
  EXPECT_EQ(later.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(later.message()),
              AllOf(HasSubstr("lost"), HasSubstr("cuMemUnmap")));
  // The fake would report the mapping left behind.
  const cuda::DriverApi api = driver_.api();
  cuda::Context context = nullptr;
  ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), Result::kSuccess);
  ASSERT_EQ(api.cuCtxPushCurrent(context), Result::kSuccess);
  EXPECT_EQ(api.cuMemUnmap(address + kUnit, kUnit), Result::kSuccess);
  ASSERT_EQ(api.cuCtxPopCurrent(&context), Result::kSuccess);
  ASSERT_EQ(api.cuDevicePrimaryCtxRelease(0), Result::kSuccess);
}

TEST_F(CudaDeviceTest, MemoryInfoIsTheDriversWithOurChunks) {
  Create(3);
  const MemoryInfo info = device_->memory_info();
  EXPECT_EQ(info.total, 64 * kUnit);
  EXPECT_EQ(info.free, 61 * kUnit);
  EXPECT_EQ(info.created, 3 * kUnit);
  driver_.FailCall("cuMemGetInfo", 1, Result::kUnknown);
  EXPECT_EQ(device_->memory_info().free, 0u);
  EXPECT_EQ(device_->memory_info().created, 3 * kUnit);
}

// Contexts. -------------------------------------------------------------------

TEST_F(CudaDeviceTest, NoVerbLeavesItsContextBehind) {
  const DeviceAddress address = Ready(1);
  const Stream stream = device_->CreateStream().value();
  ASSERT_THAT(device_->Fill(address, 1, kUnit, stream), IsOk());
  EXPECT_EQ(driver_.leaks().contexts_pushed, 0);
  cuda::Context current = nullptr;
  ASSERT_EQ(driver_.api().cuCtxGetCurrent(&current), Result::kSuccess);
  EXPECT_EQ(current, nullptr);
}

TEST_F(CudaDeviceTest, WhereTheContextIsCurrentNothingIsPushed) {
  const cuda::DriverApi api = driver_.api();
  cuda::Context context = nullptr;
  ASSERT_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), Result::kSuccess);
  ASSERT_EQ(api.cuCtxPushCurrent(context), Result::kSuccess);
  const int64_t before = driver_.calls("cuCtxPushCurrent");
  Ready(1);
  EXPECT_EQ(driver_.calls("cuCtxPushCurrent"), before);
  ASSERT_EQ(api.cuCtxPopCurrent(&context), Result::kSuccess);
  ASSERT_EQ(api.cuDevicePrimaryCtxRelease(0), Result::kSuccess);
}

TEST_F(CudaDeviceTest, ThreadsUseTheDeviceTogether) {
  const DeviceAddress address = Ready(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const DeviceAddress mine = address + i * kUnit;
      const Stream stream = device_->CreateStream().value();
      const Event event = device_->CreateEvent().value();
      for (int round = 0; round < 50; ++round) {
        const auto value = static_cast<uint8_t>(round * 4 + i);
        EXPECT_THAT(device_->Fill(mine, value, kUnit, stream), IsOk());
        EXPECT_THAT(device_->Record(event, stream), IsOk());
        while (!device_->HasHappened(event).value()) {
        }
        uint8_t last = 0;
        EXPECT_THAT(device_->CopyToHost(&last, mine + kUnit - 1, 1, stream),
                    IsOk());
        EXPECT_EQ(last, value);
        const ChunkId chunk = device_->Create(kUnit).value();
        EXPECT_THAT(device_->Destroy(chunk), IsOk());
      }
      EXPECT_THAT(device_->DestroyEvent(event), IsOk());
      EXPECT_THAT(device_->DestroyStream(stream), IsOk());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CudaDeviceTest, AContextLeftCurrentIsWarnedOfOnce) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    driver_.FailCall("cuCtxPopCurrent", 1, Result::kUnknown);
    device_->CreateEvent().value();
    cuda::Context popped = nullptr;
    EXPECT_EQ(driver_.api().cuCtxPopCurrent(&popped), Result::kSuccess);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("rekindle: warning: cuCtxPopCurrent[^\n]+"
                                    "keeps a device's context[^\n]+\n"));
}

// Work. -----------------------------------------------------------------------

TEST_F(CudaDeviceTest, CopiesWaitAndAreCounted) {
  const DeviceAddress address = Ready(1);
  std::vector<uint8_t> sent(kUnit, 1);
  driver_.Pin(sent.data(), sent.size());  // read when the copy runs
  ASSERT_THAT(device_->CopyFromHost(address, sent.data(), kUnit, Stream()),
              IsOk());
  EXPECT_EQ(device_->counters().synchronize, 1);
  sent.assign(kUnit, 2);
  std::vector<uint8_t> got(kUnit, 0);
  driver_.Pin(got.data(), got.size());
  ASSERT_THAT(device_->CopyToHost(got.data(), address, kUnit, Stream()),
              IsOk());
  EXPECT_EQ(device_->counters().synchronize, 2);
  EXPECT_EQ(got, std::vector<uint8_t>(kUnit, 1));
}

// Else it could reach memory that the caller has given back.
TEST_F(CudaDeviceTest, ACopyWhoseWaitFailsIsNotLeftInTheQueue) {
  const DeviceAddress address = Ready(1);
  std::vector<char> host(kUnit);
  driver_.Pin(host.data(), kUnit);
  driver_.FailCall("cuStreamSynchronize", 1, Result::kUnknown);
  EXPECT_FALSE(device_->CopyToHost(host.data(), address, kUnit, {}).ok());
  EXPECT_EQ(driver_.pending(), 0);
  driver_.FailCall("cuStreamSynchronize", 1, Result::kUnknown);
  EXPECT_FALSE(device_->CopyFromHost(address, host.data(), kUnit, {}).ok());
  EXPECT_EQ(driver_.pending(), 0);
}

TEST_F(CudaDeviceTest, OtherWorkDoesNotWait) {
  const DeviceAddress address = Ready(2);
  const Stream stream = device_->CreateStream().value();
  const Event event = device_->CreateEvent().value();
  ASSERT_THAT(device_->Fill(address, 1, kUnit, stream), IsOk());
  ASSERT_THAT(device_->Copy(address + kUnit, address, kUnit, stream), IsOk());
  ASSERT_THAT(device_->Record(event, stream), IsOk());
  ASSERT_THAT(device_->StreamWait(Stream(), event), IsOk());
  EXPECT_GT(driver_.pending(), 0);
  EXPECT_EQ(device_->counters().synchronize, 0);
}

TEST_F(CudaDeviceTest, OwnStreamsDoNotWaitForTheDefaultOne) {
  const DeviceAddress address = Ready(1);
  const Stream stream = device_->CreateStream().value();
  bool ran = false;
  driver_.Launch(nullptr, {}, [&] { ran = true; });
  for (int i = 0; i < 20; ++i) {  // some order has it last
    ASSERT_THAT(device_->Fill(address, 1, 1, stream), IsOk());
    ASSERT_THAT(device_->Synchronize(stream), IsOk());
    if (ran) break;
  }
  ASSERT_THAT(device_->Synchronize(Stream()), IsOk());
  EXPECT_TRUE(ran);
}

TEST_F(CudaDeviceTest, StreamsAreKeptForTheNext) {
  const Stream first = device_->CreateStream().value();
  ASSERT_THAT(device_->DestroyStream(first), IsOk());
  EXPECT_THAT(device_->Synchronize(first), IsInvalidArgument());
  const Stream second = device_->CreateStream().value();
  EXPECT_EQ(second, first);
  EXPECT_EQ(driver_.calls("cuStreamCreate"), 1);
  EXPECT_THAT(device_->Synchronize(second), IsOk());
}

TEST_F(CudaDeviceTest, DestroyStreamWaitsForItsWork) {
  const DeviceAddress address = Ready(1);
  const Stream stream = device_->CreateStream().value();
  ASSERT_THAT(device_->Fill(address, 1, kUnit, stream), IsOk());
  ASSERT_THAT(device_->DestroyStream(stream), IsOk());
  EXPECT_EQ(driver_.pending(), 0);
  EXPECT_EQ(device_->counters().synchronize, 1);
  EXPECT_THAT(device_->Unmap(address, kUnit), IsOk());
}

TEST_F(CudaDeviceTest, StreamsOfTheProgramAreTakenAsTheyAre) {
  const DeviceAddress address = Ready(1);
  const Stream stream = ProgramStream(0);
  const Event event = device_->CreateEvent().value();
  ASSERT_THAT(device_->Fill(address, 7, kUnit, stream), IsOk());
  ASSERT_THAT(device_->Record(event, stream), IsOk());
  uint8_t byte = 0;
  ASSERT_THAT(device_->CopyToHost(&byte, address, 1, stream), IsOk());
  EXPECT_EQ(byte, 7);
  EXPECT_THAT(device_->DestroyStream(stream), IsInvalidArgument());
  EXPECT_THAT(device_->Synchronize(stream), IsOk());
  EndProgramStream(stream);
}

TEST_F(CudaDeviceTest, MemoryOfTheProgramCanBeCopied) {
  const DeviceAddress here = driver_.AllocateForProgram(kUnit);
  const DeviceAddress there = Ready(1);
  ASSERT_THAT(device_->Fill(here, 5, kUnit, Stream()), IsOk());
  ASSERT_THAT(device_->Copy(there, here, kUnit, Stream()), IsOk());
  uint8_t byte = 0;
  ASSERT_THAT(device_->CopyToHost(&byte, there + kUnit - 1, 1, Stream()),
              IsOk());
  EXPECT_EQ(byte, 5);
}

// Captures. -------------------------------------------------------------------

TEST_F(CudaDeviceTest, NoMemoryVerbReachesTheDriverInACapture) {
  const DeviceAddress address = Ready(1);
  const DeviceAddress free = device_->Reserve(kUnit).value();
  const ChunkId chunk = Create(1)[0];
  const Stream own = device_->CreateStream().value();
  const Stream blocking = ProgramStream(0);
  for (const Stream stream : {own, blocking}) {
    ASSERT_EQ(driver_.BeginCapture(cuda::ToDriver(stream)), Result::kSuccess);
    EXPECT_THAT(device_->Reserve(kUnit), IsFailedPrecondition());
    EXPECT_THAT(device_->Release(free, kUnit), IsFailedPrecondition());
    EXPECT_THAT(device_->Create(kUnit), IsFailedPrecondition());
    EXPECT_THAT(device_->Destroy(chunk), IsFailedPrecondition());
    EXPECT_THAT(device_->Map(free, {chunk}), IsFailedPrecondition());
    const absl::Status unmap = device_->Unmap(address, kUnit);
    EXPECT_THAT(unmap, IsFailedPrecondition());
    EXPECT_THAT(std::string(unmap.message()),
                AllOf(HasSubstr("unmap of 64.00 KiB"), HasSubstr("captured")));
    ASSERT_EQ(driver_.EndCapture(cuda::ToDriver(stream)), Result::kSuccess);
    EXPECT_THAT(device_->Map(free, {chunk}), IsOk());
    EXPECT_THAT(device_->Unmap(free, kUnit), IsOk());
  }
  EndProgramStream(blocking);
}

TEST_F(CudaDeviceTest, CapturedStreamIsNeitherMarkedNorMadeToWait) {
  const Stream captured = device_->CreateStream().value();
  const Stream other = device_->CreateStream().value();
  const Event event = device_->CreateEvent().value();
  ASSERT_THAT(device_->Record(event, other), IsOk());
  ASSERT_EQ(driver_.BeginCapture(cuda::ToDriver(captured)), Result::kSuccess);
  EXPECT_THAT(device_->Record(event, captured), IsFailedPrecondition());
  EXPECT_THAT(device_->StreamWait(captured, event), IsFailedPrecondition());
  EXPECT_THAT(device_->HasHappened(event), IsOk());
  ASSERT_EQ(driver_.EndCapture(cuda::ToDriver(captured)), Result::kSuccess);
  EXPECT_THAT(device_->Record(event, captured), IsOk());
  EXPECT_THAT(device_->DestroyEvent(event), IsOk());
}

// Errors that stay. -----------------------------------------------------------

TEST_F(CudaDeviceTest, AnErrorOfQueuedWorkStays) {
  const DeviceAddress address = Ready(1);
  const Event event = device_->CreateEvent().value();
  driver_.Fault(Result::kIllegalAddress);
  const absl::Status first = device_->Synchronize(Stream());
  EXPECT_EQ(first.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(first.message()),
              HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  const int64_t calls = driver_.calls();
  const absl::Status later = device_->Fill(address, 1, kUnit, Stream());
  EXPECT_EQ(later.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(later.message()),
              AllOf(HasSubstr("fill of 64.00 KiB: the device is lost since "),
                    HasSubstr(std::string(first.message()))));
  EXPECT_EQ(device_->HasHappened(event).status().code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(device_->Unmap(address, kUnit).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(driver_.calls(), calls);
  EXPECT_EQ(device_->memory_info().created, kUnit);
  EXPECT_EQ(device_->memory_info().free, 0u);
  driver_.Repair();
}

TEST_F(CudaDeviceTest, AKernelThatOutlivesItsMemoryIsFound) {
  const DeviceAddress address = Ready(1);
  const Stream stream = device_->CreateStream().value();
  driver_.Launch(cuda::ToDriver(stream), {{address, kUnit}}, [] {});
  ASSERT_THAT(device_->Unmap(address, kUnit), IsOk());
  EXPECT_TRUE(driver_.TakeViolation("unmap-pending-work"));
  EXPECT_EQ(device_->Synchronize(stream).code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(driver_.TakeViolation("access-unmapped"));
  driver_.Repair();
}

}  // namespace
}  // namespace rekindle
