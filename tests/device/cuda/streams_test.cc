// SPDX-License-Identifier: Apache-2.0
// Streams and events that several threads end.
#include "rekindle/device/cuda/streams.h"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/base/status_matchers.h"
#include "tests/device/cuda/fake_test.h"

namespace rekindle {
namespace {

using cuda::Result;

class StreamsTest : public testing::Test {
 protected:
  const std::unique_ptr<cuda::FakeCudaDevice> device_ =
      cuda::FakeCudaDevice::Open({});
  cuda::FakeDriver& driver_ = device_->driver();
};

TEST_F(StreamsTest, OneOfTwoThreadsEndsWhatTheyShare) {
  for (int round = 0; round < 200; ++round) {
    const Stream stream = device_->CreateStream().value();
    const Event event = device_->CreateEvent().value();
    std::atomic<int> streams = 0;
    std::atomic<int> events = 0;
    const auto end_both = [&] {
      streams += device_->DestroyStream(stream).ok() ? 1 : 0;
      events += device_->DestroyEvent(event).ok() ? 1 : 0;
    };
    std::thread other(end_both);
    end_both();
    other.join();
    ASSERT_EQ(streams, 1);
    ASSERT_EQ(events, 1);
  }
  EXPECT_EQ(driver_.calls("cuStreamCreate"), 1);
}

// The second thread comes while the first waits for the stream's work.
TEST_F(StreamsTest, ALateEndOfAStreamSparesTheNextOne) {
  const Stream stream = device_->CreateStream().value();
  std::future<absl::Status> late;
  driver_.Launch(cuda::ToDriver(stream), {}, [&] {
    late = std::async(std::launch::async,
                      [&] { return device_->DestroyStream(stream); });
    late.wait_for(std::chrono::seconds(5));  // at once, if it is refused
  });
  ASSERT_THAT(device_->DestroyStream(stream), IsOk());
  const Stream next = device_->CreateStream().value();
  EXPECT_EQ(next, stream);
  EXPECT_THAT(late.get(), IsInvalidArgument());
  EXPECT_THAT(device_->Synchronize(next), IsOk());
}

TEST_F(StreamsTest, AStreamThatCannotBeWaitedForStaysAlive) {
  const Stream stream = device_->CreateStream().value();
  driver_.FailCall("cuStreamSynchronize", 1, Result::kUnknown);
  EXPECT_FALSE(device_->DestroyStream(stream).ok());
  EXPECT_THAT(device_->Synchronize(stream), IsOk());
  EXPECT_THAT(device_->DestroyStream(stream), IsOk());
}

}  // namespace
}  // namespace rekindle
