// SPDX-License-Identifier: Apache-2.0
// A fixture that calls the fake driver as a program would.
#pragma once

#include <string>

#include "tests/device/cuda/fake_test.h"

namespace rekindle::cuda {

// The context is current for the test. The end fails the test for breaches
// nobody took; leaks are the test's own business.
class FakeApiTest : public testing::Test {
 protected:
  static constexpr size_t kUnit = 64 * kKiB;

  static FakeDriverOptions Options() {
    FakeDriverOptions options;
    options.memory = 16 * kUnit;
    options.granularity = kUnit;
    return options;
  }

  explicit FakeApiTest(FakeDriverOptions options = Options())
      : driver_(std::move(options)), api_(driver_.api()) {
    EXPECT_EQ(api_.cuInit(0), Result::kSuccess);
    EXPECT_EQ(api_.cuDevicePrimaryCtxRetain(&context_, 0), Result::kSuccess);
    EXPECT_EQ(api_.cuCtxPushCurrent(context_), Result::kSuccess);
  }

  ~FakeApiTest() override { ExpectNoViolations(driver_); }

  DevicePointer Reserve(size_t units) {
    DevicePointer address = 0;
    EXPECT_EQ(api_.cuMemAddressReserve(&address, units * kUnit, kUnit, 0, 0),
              Result::kSuccess);
    return address;
  }

  AllocationHandle Create(size_t units) {
    AllocationHandle handle = 0;
    const AllocationProperties properties = DeviceMemory(0);
    EXPECT_EQ(api_.cuMemCreate(&handle, units * kUnit, &properties, 0),
              Result::kSuccess);
    return handle;
  }

  Result Map(DevicePointer address, AllocationHandle handle, size_t units) {
    return api_.cuMemMap(address, units * kUnit, 0, handle, 0);
  }

  Result SetAccess(DevicePointer address, size_t bytes) {
    AccessDescription access;
    access.location = {LocationType::kDevice, 0};
    access.flags = AccessFlags::kReadWrite;
    return api_.cuMemSetAccess(address, bytes, &access, 1);
  }

  // A reservation of `units` with a handle for each unit, ready for work.
  DevicePointer Ready(size_t units) {
    const DevicePointer address = Reserve(units);
    for (size_t i = 0; i < units; ++i) {
      EXPECT_EQ(Map(address + i * kUnit, Create(1), 1), Result::kSuccess);
    }
    EXPECT_EQ(SetAccess(address, units * kUnit), Result::kSuccess);
    return address;
  }

  StreamHandle CreateStream(unsigned flags = kStreamNonBlocking) {
    StreamHandle stream = nullptr;
    EXPECT_EQ(api_.cuStreamCreate(&stream, flags), Result::kSuccess);
    return stream;
  }

  EventHandle CreateEvent() {
    EventHandle event = nullptr;
    EXPECT_EQ(api_.cuEventCreate(&event, kEventDisableTiming),
              Result::kSuccess);
    return event;
  }

  // `result` is the refusal of a call that breaks `rule` and nothing else.
  void ExpectBreach(Result result, const std::string& rule,
                    Result expected = Result::kInvalidValue) {
    EXPECT_EQ(result, expected);
    EXPECT_TRUE(driver_.TakeViolation(rule)) << "no breach of " << rule;
  }

  FakeDriver driver_;
  const DriverApi api_;
  Context context_ = nullptr;
};

}  // namespace rekindle::cuda
