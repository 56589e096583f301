// SPDX-License-Identifier: Apache-2.0
// What is done before what: within a stream, across streams, for the host.
#include <cstdint>
#include <vector>

#include "tests/base/status_matchers.h"
#include "tests/device/conformance.h"

namespace rekindle {
namespace {

TEST_P(DeviceConformance, AStreamDoesItsWorkInOrder) {
  const DeviceAddress address = Ready(2);
  const Stream stream = device_->CreateStream().value();
  for (uint8_t value = 1; value <= 20; ++value) {
    ASSERT_THAT(device_->Fill(address, value, unit_, stream), IsOk());
  }
  ASSERT_THAT(device_->Copy(address + unit_, address, unit_, stream), IsOk());
  ASSERT_THAT(device_->Fill(address, 99, unit_, stream), IsOk());
  ASSERT_THAT(device_->Synchronize(stream), IsOk());
  EXPECT_TRUE(Holds(address + unit_, unit_, 20));
  EXPECT_TRUE(Holds(address, unit_, 99));
}

TEST_P(DeviceConformance, ACopyToTheHostHasAllEarlierWorkOfItsStream) {
  const DeviceAddress address = Ready(1);
  const Stream stream = device_->CreateStream().value();
  for (uint8_t value = 1; value <= 20; ++value) {
    ASSERT_THAT(device_->Fill(address, value, unit_, stream), IsOk());
    uint8_t got = 0xEE;
    ASSERT_THAT(device_->CopyToHost(&got, address + unit_ - 1, 1, stream),
                IsOk());
    EXPECT_EQ(got, device_->holds_bytes() ? value : 0);
  }
}

TEST_P(DeviceConformance, HostMemoryMayBeUsedAgainAfterACopyFromIt) {
  const DeviceAddress address = Ready(2);
  const Stream stream = device_->CreateStream().value();
  std::vector<uint8_t> bytes(unit_, 1);
  ASSERT_THAT(device_->CopyFromHost(address, bytes.data(), unit_, stream),
              IsOk());
  bytes.assign(unit_, 2);
  ASSERT_THAT(
      device_->CopyFromHost(address + unit_, bytes.data(), unit_, stream),
      IsOk());
  bytes.assign(unit_, 3);
  ASSERT_THAT(device_->Synchronize(stream), IsOk());
  EXPECT_TRUE(Holds(address, unit_, 1));
  EXPECT_TRUE(Holds(address + unit_, unit_, 2));
}

TEST_P(DeviceConformance, WaitsPassBytesFromStreamToStream) {
  const DeviceAddress address = Ready(4);
  std::vector<Stream> streams;
  std::vector<Event> events;
  for (int i = 0; i < 4; ++i) {
    streams.push_back(device_->CreateStream().value());
    events.push_back(device_->CreateEvent().value());
  }
  ASSERT_THAT(device_->Fill(address, 0x42, unit_, streams[0]), IsOk());
  ASSERT_THAT(device_->Record(events[0], streams[0]), IsOk());
  for (size_t i = 1; i < 4; ++i) {
    ASSERT_THAT(device_->StreamWait(streams[i], events[i - 1]), IsOk());
    ASSERT_THAT(device_->Copy(address + i * unit_, address + (i - 1) * unit_,
                              unit_, streams[i]),
                IsOk());
    ASSERT_THAT(device_->Record(events[i], streams[i]), IsOk());
  }
  ASSERT_THAT(device_->Synchronize(streams[3]), IsOk());
  for (const Event event : events) {
    EXPECT_TRUE(device_->HasHappened(event).value());
  }
  EXPECT_TRUE(Holds(address + 3 * unit_, unit_, 0x42));
}

TEST_P(DeviceConformance, AWaitIsForTheLastRecordBeforeIt) {
  const DeviceAddress address = Ready(2);
  const Stream first = device_->CreateStream().value();
  const Stream second = device_->CreateStream().value();
  const Event event = device_->CreateEvent().value();
  ASSERT_THAT(device_->Fill(address, 1, unit_, first), IsOk());
  ASSERT_THAT(device_->Record(event, first), IsOk());
  ASSERT_THAT(device_->Fill(address, 2, unit_, first), IsOk());
  ASSERT_THAT(device_->Record(event, first), IsOk());
  ASSERT_THAT(device_->StreamWait(second, event), IsOk());
  ASSERT_THAT(device_->Copy(address + unit_, address, unit_, second), IsOk());
  ASSERT_THAT(device_->Synchronize(second), IsOk());
  EXPECT_TRUE(Holds(address + unit_, unit_, 2));
}

TEST_P(DeviceConformance, AWaitOutlivesItsEvent) {
  const DeviceAddress address = Ready(2);
  const Stream first = device_->CreateStream().value();
  const Stream second = device_->CreateStream().value();
  const Event event = device_->CreateEvent().value();
  ASSERT_THAT(device_->Fill(address, 7, unit_, first), IsOk());
  ASSERT_THAT(device_->Record(event, first), IsOk());
  ASSERT_THAT(device_->StreamWait(second, event), IsOk());
  ASSERT_THAT(device_->DestroyEvent(event), IsOk());
  ASSERT_THAT(device_->Copy(address + unit_, address, unit_, second), IsOk());
  ASSERT_THAT(device_->Synchronize(second), IsOk());
  EXPECT_TRUE(Holds(address + unit_, unit_, 7));
}

TEST_P(DeviceConformance, AnEventHappensWithoutAWait) {
  const DeviceAddress address = Ready(1);
  const Stream stream = device_->CreateStream().value();
  const Event event = device_->CreateEvent().value();
  const int64_t before = device_->counters().synchronize;
  ASSERT_THAT(device_->Fill(address, 3, unit_, stream), IsOk());
  ASSERT_THAT(device_->Record(event, stream), IsOk());
  while (!device_->HasHappened(event).value()) {
  }
  EXPECT_EQ(device_->counters().synchronize, before);
  // The work is done, so the range is idle.
  EXPECT_THAT(device_->Unmap(address, unit_), IsOk());
}

TEST_P(DeviceConformance, DestroyStreamWaitsForItsWork) {
  const DeviceAddress address = Ready(1);
  const Stream stream = device_->CreateStream().value();
  ASSERT_THAT(device_->Fill(address, 5, unit_, stream), IsOk());
  ASSERT_THAT(device_->DestroyStream(stream), IsOk());
  EXPECT_THAT(device_->Unmap(address, unit_), IsOk());
}

TEST_P(DeviceConformance, IdleRangesMoveWhileOthersAreBusy) {
  const DeviceAddress address = Reserve(4);
  const std::vector<ChunkId> chunks = CreateMany(2);
  ASSERT_THAT(device_->Map(address, chunks), IsOk());
  Fill(address, unit_, 1);
  const Stream busy = device_->CreateStream().value();
  ASSERT_THAT(device_->Fill(address + unit_, 2, unit_, busy), IsOk());
  ASSERT_THAT(device_->Unmap(address, unit_), IsOk());
  ASSERT_THAT(device_->Map(address + 3 * unit_, {chunks[0]}), IsOk());
  EXPECT_TRUE(Holds(address + 3 * unit_, unit_, 1));
  ASSERT_THAT(device_->Synchronize(busy), IsOk());
  EXPECT_TRUE(Holds(address + unit_, unit_, 2));
}

}  // namespace
}  // namespace rekindle
