// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/fault_injecting_device.h"

#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using Verb = FaultInjectingDevice::Verb;

constexpr size_t kUnit = 64 * kKiB;

class FaultInjectingDeviceTest : public testing::Test {
 protected:
  const absl::Status error_ = absl::InternalError("injected");
  const std::unique_ptr<Device> inner_ =
      CountingDevice::Open({.capacity = kMiB, .granularity = kUnit}).value();
  FaultInjectingDevice device_{*inner_};
};

TEST_F(FaultInjectingDeviceTest, ForwardsWhatIsNotToldToFail) {
  EXPECT_EQ(device_.name(), "counting");
  EXPECT_FALSE(device_.holds_bytes());
  EXPECT_EQ(device_.granularity(), kUnit);
  ASSERT_THAT(device_.Create(kUnit), IsOk());
  EXPECT_EQ(device_.memory_info().created, kUnit);
  EXPECT_EQ(device_.counters().create, 1);
  EXPECT_EQ(device_.failures(), 0);
}

TEST_F(FaultInjectingDeviceTest, TheNthCallFailsAndDoesNothing) {
  device_.FailCall(Verb::kCreate, 2, error_);
  EXPECT_THAT(device_.Create(kUnit), IsOk());
  EXPECT_EQ(device_.Create(kUnit).status(), error_);
  EXPECT_EQ(inner_->memory_info().created, kUnit);
  EXPECT_THAT(device_.Create(kUnit), IsOk());
  EXPECT_EQ(device_.calls(Verb::kCreate), 3);
  EXPECT_EQ(device_.failures(), 1);
}

TEST_F(FaultInjectingDeviceTest, CallsAreCountedFromNow) {
  ASSERT_THAT(device_.Create(kUnit), IsOk());
  ASSERT_THAT(device_.Create(kUnit), IsOk());
  device_.FailCall(Verb::kCreate, 1, error_);
  EXPECT_THAT(device_.Reserve(kUnit), IsOk());
  EXPECT_EQ(device_.Create(kUnit).status(), error_);
}

TEST_F(FaultInjectingDeviceTest, SeveralCallsCanFailInARow) {
  device_.FailCall(Verb::kReserve, 2, error_, 3);
  for (const bool ok : {true, false, false, false, true}) {
    EXPECT_EQ(device_.Reserve(kUnit).ok(), ok);
  }
}

TEST_F(FaultInjectingDeviceTest, AnyVerbCanBeTheNthCall) {
  device_.FailCall(Verb::kAny, 2, error_);
  EXPECT_THAT(device_.Reserve(kUnit), IsOk());
  EXPECT_EQ(device_.Create(kUnit).status(), error_);
  EXPECT_THAT(device_.Create(kUnit), IsOk());
  EXPECT_EQ(device_.calls(Verb::kAny), 3);
}

TEST_F(FaultInjectingDeviceTest, ClearForgetsWhatIsToFail) {
  device_.FailCall(Verb::kAny, 1, error_, 100);
  device_.Clear();
  EXPECT_THAT(device_.Create(kUnit), IsOk());
}

TEST_F(FaultInjectingDeviceTest, EveryVerbCanFail) {
  uint8_t byte = 0;
  device_.FailCall(Verb::kAny, 1, error_, 18);
  EXPECT_EQ(device_.Reserve(kUnit).status(), error_);
  EXPECT_EQ(device_.Release(0, kUnit), error_);
  EXPECT_EQ(device_.Create(kUnit).status(), error_);
  EXPECT_EQ(device_.Destroy(ChunkId(0)), error_);
  EXPECT_EQ(device_.Map(0, {}), error_);
  EXPECT_EQ(device_.Unmap(0, kUnit), error_);
  EXPECT_EQ(device_.Copy(0, 0, 0, Stream()), error_);
  EXPECT_EQ(device_.CopyFromHost(0, &byte, 0, Stream()), error_);
  EXPECT_EQ(device_.CopyToHost(&byte, 0, 0, Stream()), error_);
  EXPECT_EQ(device_.Fill(0, 0, 0, Stream()), error_);
  EXPECT_EQ(device_.CreateStream().status(), error_);
  EXPECT_EQ(device_.DestroyStream(Stream()), error_);
  EXPECT_EQ(device_.CreateEvent().status(), error_);
  EXPECT_EQ(device_.DestroyEvent(Event()), error_);
  EXPECT_EQ(device_.Record(Event(), Stream()), error_);
  EXPECT_EQ(device_.StreamWait(Stream(), Event()), error_);
  EXPECT_EQ(device_.HasHappened(Event()).status(), error_);
  EXPECT_EQ(device_.Synchronize(Stream()), error_);
  EXPECT_EQ(device_.failures(), 18);
  for (int verb = 0; verb < static_cast<int>(Verb::kAny); ++verb) {
    EXPECT_EQ(device_.calls(static_cast<Verb>(verb)), 1) << verb;
  }
}

}  // namespace
}  // namespace rekindle
