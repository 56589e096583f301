// SPDX-License-Identifier: Apache-2.0
// What the devices that work at once check beyond the contract.
#include "rekindle/device/synchronous_device.h"

#include <memory>

#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/host/host_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

constexpr size_t kUnit = 64 * kKiB;

std::unique_ptr<SynchronousDevice> OpenHost() {
  return HostDevice::Open({.capacity = kMiB, .granularity = kUnit}).value();
}

std::unique_ptr<SynchronousDevice> OpenCounting() {
  return CountingDevice::Open({.capacity = kMiB, .granularity = kUnit}).value();
}

class SynchronousDeviceTest
    : public testing::TestWithParam<std::unique_ptr<SynchronousDevice> (*)()> {
 protected:
  SynchronousDeviceTest()
      : device_(GetParam()()), address_(device_->Reserve(8 * kUnit).value()) {}

  void MapUnits(size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      const ChunkId chunk = device_->Create(kUnit).value();
      ASSERT_THAT(device_->Map(address_ + i * kUnit, {chunk}), IsOk());
    }
  }

  absl::Status Fill(DeviceAddress address, size_t bytes) {
    return device_->Fill(address, 1, bytes, Stream());
  }

  const std::unique_ptr<SynchronousDevice> device_;
  const DeviceAddress address_;
};

TEST_P(SynchronousDeviceTest, WorkNeedsMemoryBehindAllOfItsRange) {
  MapUnits(1, 2);
  EXPECT_THAT(Fill(address_ + kUnit, 2 * kUnit), IsOk());
  EXPECT_THAT(Fill(address_ + kUnit + 100, kUnit), IsOk());
  EXPECT_THAT(Fill(address_, 1), IsFailedPrecondition());
  EXPECT_THAT(Fill(address_ + kUnit - 1, 2), IsFailedPrecondition());
  EXPECT_THAT(Fill(address_ + 3 * kUnit - 1, 2), IsFailedPrecondition());
  EXPECT_THAT(Fill(address_ + 3 * kUnit, 1), IsFailedPrecondition());
  MapUnits(5, 1);
  EXPECT_THAT(Fill(address_ + 2 * kUnit, 4 * kUnit), IsFailedPrecondition());
}

TEST_P(SynchronousDeviceTest, BothEndsOfACopyAreChecked) {
  MapUnits(0, 1);
  const DeviceAddress there = address_;
  const DeviceAddress gone = address_ + kUnit;
  uint8_t byte = 0;
  EXPECT_THAT(device_->Copy(there, gone, 1, Stream()), IsFailedPrecondition());
  EXPECT_THAT(device_->Copy(gone, there, 1, Stream()), IsFailedPrecondition());
  EXPECT_THAT(device_->CopyFromHost(gone, &byte, 1, Stream()),
              IsFailedPrecondition());
  EXPECT_THAT(device_->CopyToHost(&byte, gone, 1, Stream()),
              IsFailedPrecondition());
  EXPECT_THAT(device_->Copy(there, there + 1, 1, Stream()), IsOk());
}

TEST_P(SynchronousDeviceTest, RangesMustEndBelowTheLastAddress) {
  EXPECT_THAT(Fill(address_, ~size_t{0}), IsInvalidArgument());
}

TEST_P(SynchronousDeviceTest, MemoryOfTheProgramIsItsOwnBusiness) {
  MapUnits(0, 1);
  uint64_t own = 0;
  const auto address = reinterpret_cast<DeviceAddress>(&own);
  EXPECT_THAT(Fill(address, sizeof(own)), IsOk());
  EXPECT_EQ(own, device_->holds_bytes() ? 0x0101010101010101u : 0u);
  EXPECT_THAT(device_->Copy(address_, address, sizeof(own), Stream()), IsOk());
}

TEST_P(SynchronousDeviceTest, ErrorsNameTheValues) {
  EXPECT_THAT(device_->Create(kUnit + 1).status().ToString(),
              testing::HasSubstr("65537"));
  EXPECT_THAT(device_->Create(2 * kMiB).status().ToString(),
              testing::HasSubstr("2.00 MiB"));
  EXPECT_THAT(device_->Destroy(ChunkId(77)).ToString(),
              testing::HasSubstr("77"));
  device_->CheckInvariants();
}

INSTANTIATE_TEST_SUITE_P(Host, SynchronousDeviceTest,
                         testing::Values(&OpenHost));
INSTANTIATE_TEST_SUITE_P(Counting, SynchronousDeviceTest,
                         testing::Values(&OpenCounting));

}  // namespace
}  // namespace rekindle
