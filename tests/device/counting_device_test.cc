// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/counting/counting_device.h"

#include <vector>

#include "rekindle/base/units.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using std::chrono::nanoseconds;
using testing::HasSubstr;

TEST(CountingDeviceTest, OptionsOutOfRangeAreNamed) {
  for (const size_t granularity : {0, 128, 300}) {
    const auto device = CountingDevice::Open({.granularity = granularity});
    EXPECT_THAT(device, IsInvalidArgument());
    EXPECT_THAT(device.status().ToString(),
                HasSubstr(std::to_string(granularity)));
  }
  EXPECT_THAT(CountingDevice::Open({.capacity = 1000}), IsInvalidArgument());
}

TEST(CountingDeviceTest, TerabytesCostNothing) {
  const size_t terabyte = size_t{1} << 40;
  const auto device = CountingDevice::Open({.capacity = 64 * terabyte}).value();
  EXPECT_EQ(device->name(), "counting");
  EXPECT_FALSE(device->holds_bytes());
  const DeviceAddress address = device->Reserve(256 * terabyte).value();
  const ChunkId chunk = device->Create(64 * terabyte).value();
  ASSERT_THAT(device->Map(address, {chunk}), IsOk());
  EXPECT_EQ(device->memory_info().free, 0u);
  EXPECT_THAT(device->Fill(address, 1, 64 * terabyte, Stream()), IsOk());
}

TEST(CountingDeviceTest, TheClockMovesByAdvanceOnly) {
  const auto device = CountingDevice::Open({}).value();
  EXPECT_EQ(device->now(), nanoseconds(0));
  ASSERT_THAT(device->Create(2 * kMiB), IsOk());
  ASSERT_THAT(device->Synchronize(Stream()), IsOk());
  EXPECT_EQ(device->now(), nanoseconds(0));
  device->Advance(std::chrono::milliseconds(3));
  device->Advance(nanoseconds(4));
  EXPECT_EQ(device->now(), nanoseconds(3'000'004));
}

TEST(CountingDeviceTest, VerbsTakeWhatTheLatencyModelSays) {
  CountingDeviceOptions options;
  options.latency.create = nanoseconds(1);
  options.latency.destroy = nanoseconds(10);
  options.latency.map_call = nanoseconds(100);
  options.latency.map_chunk = nanoseconds(1'000);
  options.latency.unmap_call = nanoseconds(10'000);
  options.latency.unmap_chunk = nanoseconds(100'000);
  const auto device = CountingDevice::Open(options).value();
  const size_t unit = device->granularity();
  const DeviceAddress address = device->Reserve(3 * unit).value();
  std::vector<ChunkId> chunks;
  for (int i = 0; i < 3; ++i) chunks.push_back(device->Create(unit).value());
  EXPECT_EQ(device->now(), nanoseconds(3));
  ASSERT_THAT(device->Map(address, chunks), IsOk());
  EXPECT_EQ(device->now(), nanoseconds(3'103));
  ASSERT_THAT(device->Unmap(address + unit, 2 * unit), IsOk());
  EXPECT_EQ(device->now(), nanoseconds(213'103));
  ASSERT_THAT(device->Destroy(chunks[2]), IsOk());
  EXPECT_EQ(device->now(), nanoseconds(213'113));
}

TEST(CountingDeviceTest, VerbsThatFailTakeNoTime) {
  CountingDeviceOptions options;
  options.capacity = 2 * kMiB;
  options.latency.create = nanoseconds(5);
  const auto device = CountingDevice::Open(options).value();
  EXPECT_THAT(device->Create(4 * kMiB), IsResourceExhausted());
  EXPECT_EQ(device->now(), nanoseconds(0));
}

}  // namespace
}  // namespace rekindle
