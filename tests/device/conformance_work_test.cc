// SPDX-License-Identifier: Apache-2.0
// Copies, fills, streams and events.
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/base/status_matchers.h"
#include "tests/device/conformance.h"

namespace rekindle {
namespace {

// Work. -----------------------------------------------------------------------

TEST_P(DeviceConformance, BytesGoToTheDeviceAndBack) {
  const DeviceAddress address = Reserve(2);
  ASSERT_THAT(device_->Map(address, CreateMany(2)), IsOk());
  std::vector<uint8_t> sent(unit_ + 3);
  std::iota(sent.begin(), sent.end(), uint8_t{1});
  const DeviceAddress odd = address + 17;
  ASSERT_THAT(device_->CopyFromHost(odd, sent.data(), sent.size(), Stream()),
              IsOk());
  std::vector<uint8_t> got(sent.size(), 0xEE);
  ASSERT_THAT(device_->CopyToHost(got.data(), odd, got.size(), Stream()),
              IsOk());
  const std::vector<uint8_t> zeros(sent.size(), 0);
  EXPECT_EQ(got, device_->holds_bytes() ? sent : zeros);
}

TEST_P(DeviceConformance, CopyMovesBytesWithinTheDevice) {
  const DeviceAddress address = Reserve(2);
  ASSERT_THAT(device_->Map(address, CreateMany(2)), IsOk());
  Fill(address, unit_, 0x5A);
  Fill(address + unit_, unit_, 0xA5);
  ASSERT_THAT(device_->Copy(address + unit_, address + 1, 100, Stream()),
              IsOk());
  EXPECT_TRUE(Holds(address + unit_, 100, 0x5A));
  EXPECT_TRUE(Holds(address + unit_ + 100, 50, 0xA5));
}

TEST_P(DeviceConformance, WorkNeedsMemoryBehindAllOfItsRange) {
  const DeviceAddress address = Reserve(4);
  ASSERT_THAT(device_->Map(address + unit_, CreateMany(2)), IsOk());
  std::vector<uint8_t> bytes(3 * unit_);
  const DeviceAddress mapped = address + unit_;
  for (const DeviceAddress from : {address, address + 2 * unit_}) {
    EXPECT_THAT(device_->Fill(from, 1, 2 * unit_, Stream()),
                IsFailedPrecondition());
    EXPECT_THAT(device_->CopyFromHost(from, bytes.data(), 2 * unit_, Stream()),
                IsFailedPrecondition());
    EXPECT_THAT(device_->CopyToHost(bytes.data(), from, 2 * unit_, Stream()),
                IsFailedPrecondition());
  }
  EXPECT_THAT(device_->Copy(address, mapped, unit_, Stream()),
              IsFailedPrecondition());
  EXPECT_THAT(device_->Copy(mapped, address + 3 * unit_, 1, Stream()),
              IsFailedPrecondition());
  EXPECT_THAT(device_->Fill(mapped, 1, 2 * unit_, Stream()), IsOk());
  EXPECT_TRUE(Holds(mapped, 2 * unit_, 1));
}

TEST_P(DeviceConformance, NothingToDoIsNoError) {
  const DeviceAddress address = Reserve(1);
  ASSERT_THAT(device_->Map(address, {Create(1)}), IsOk());
  EXPECT_THAT(device_->Copy(address, address, 0, Stream()), IsOk());
  EXPECT_THAT(device_->CopyFromHost(address, nullptr, 0, Stream()), IsOk());
  EXPECT_THAT(device_->CopyToHost(nullptr, address, 0, Stream()), IsOk());
  EXPECT_THAT(device_->Fill(address, 1, 0, Stream()), IsOk());
}

// Streams and events. ---------------------------------------------------------

TEST_P(DeviceConformance, TheDefaultStreamIsAlwaysThere) {
  EXPECT_THAT(device_->Synchronize(Stream()), IsOk());
  EXPECT_THAT(device_->DestroyStream(Stream()), IsInvalidArgument());
  EXPECT_THAT(device_->Synchronize(Stream()), IsOk());
}

TEST_P(DeviceConformance, SynchronizeIsCounted) {
  const int64_t before = device_->counters().synchronize;
  ASSERT_THAT(device_->Synchronize(Stream()), IsOk());
  EXPECT_EQ(device_->counters().synchronize, before + 1);
}

TEST_P(DeviceConformance, WorkRunsOnCreatedStreams) {
  const Stream first = device_->CreateStream().value();
  const Stream second = device_->CreateStream().value();
  EXPECT_NE(first, second);
  EXPECT_NE(first, Stream());
  const DeviceAddress address = Reserve(1);
  ASSERT_THAT(device_->Map(address, {Create(1)}), IsOk());
  const Event event = device_->CreateEvent().value();
  ASSERT_THAT(device_->Fill(address, 0x77, unit_, first), IsOk());
  ASSERT_THAT(device_->Record(event, first), IsOk());
  ASSERT_THAT(device_->StreamWait(second, event), IsOk());
  ASSERT_THAT(device_->Copy(address, address + 1, 1, second), IsOk());
  ASSERT_THAT(device_->Synchronize(second), IsOk());
  EXPECT_TRUE(device_->HasHappened(event).value());
  EXPECT_TRUE(Holds(address, unit_, 0x77));
  EXPECT_THAT(device_->DestroyEvent(event), IsOk());
  EXPECT_THAT(device_->DestroyStream(first), IsOk());
  EXPECT_THAT(device_->DestroyStream(second), IsOk());
}

TEST_P(DeviceConformance, AnEventNeverRecordedHasHappened) {
  const Event event = device_->CreateEvent().value();
  EXPECT_TRUE(device_->HasHappened(event).value());
  EXPECT_THAT(device_->StreamWait(Stream(), event), IsOk());
  EXPECT_THAT(device_->DestroyEvent(event), IsOk());
}

TEST_P(DeviceConformance, HandlesThatAreGoneAreRefused) {
  const Stream stream = device_->CreateStream().value();
  const Event event = device_->CreateEvent().value();
  ASSERT_THAT(device_->DestroyStream(stream), IsOk());
  ASSERT_THAT(device_->DestroyEvent(event), IsOk());
  EXPECT_THAT(device_->DestroyStream(stream), IsInvalidArgument());
  EXPECT_THAT(device_->DestroyEvent(event), IsInvalidArgument());
  EXPECT_THAT(device_->Synchronize(stream), IsInvalidArgument());
  EXPECT_THAT(device_->HasHappened(event), IsInvalidArgument());
  EXPECT_THAT(device_->Record(event, Stream()), IsInvalidArgument());
  EXPECT_THAT(device_->StreamWait(Stream(), event), IsInvalidArgument());
  const Event other = device_->CreateEvent().value();
  EXPECT_THAT(device_->Record(other, stream), IsInvalidArgument());
  EXPECT_THAT(device_->StreamWait(stream, other), IsInvalidArgument());
}

TEST_P(DeviceConformance, WorkOnUnknownStreamsIsRefused) {
  const DeviceAddress address = Reserve(1);
  ASSERT_THAT(device_->Map(address, {Create(1)}), IsOk());
  Fill(address, unit_, 1);
  Stream gone = device_->CreateStream().value();
  ASSERT_THAT(device_->DestroyStream(gone), IsOk());
  uint8_t byte = 2;
  EXPECT_THAT(device_->Fill(address, 2, 1, gone), IsInvalidArgument());
  EXPECT_THAT(device_->Copy(address, address, 1, gone), IsInvalidArgument());
  EXPECT_THAT(device_->CopyFromHost(address, &byte, 1, gone),
              IsInvalidArgument());
  EXPECT_THAT(device_->CopyToHost(&byte, address, 1, gone),
              IsInvalidArgument());
  EXPECT_EQ(byte, 2);
  EXPECT_TRUE(Holds(address, unit_, 1));
}

}  // namespace
}  // namespace rekindle
