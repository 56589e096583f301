// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/stream_order.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rekindle/device/counting/counting_device.h"
#include "tests/allocator/busy_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using Verb = FaultInjectingDevice::Verb;

class StreamOrderTest : public testing::Test {
 protected:
  StreamOrderTest() {
    for (Stream* stream : {&a_, &b_, &c_}) {
      *stream = device_.CreateStream().value();
    }
  }
  ~StreamOrderTest() override {
    order_->CheckInvariants();
    order_.reset();
    EXPECT_EQ(device_.calls(Verb::kDestroyEvent),
              device_.calls(Verb::kCreateEvent) - refused_events_);
  }

  void Wait(const StreamUse& use, Stream stream) {
    ASSERT_THAT(order_->Wait(use, stream), IsOk());
    EXPECT_FALSE(order_->NeedsWait(use, stream));
    order_->CheckInvariants();
  }

  const std::unique_ptr<CountingDevice> inner_ =
      CountingDevice::Open({}).value();
  BusyDevice device_{*inner_};
  std::optional<StreamOrder> order_{device_};
  Stream a_, b_, c_;
  int64_t refused_events_ = 0;
  const absl::Status error_ = absl::InternalError("broken");
};

TEST_F(StreamOrderTest, AStreamNeedsNoWaitForItself) {
  for (const Stream stream : {Stream(), a_}) {
    const StreamUse use = order_->Use(stream);
    EXPECT_FALSE(order_->NeedsWait(use, stream));
    Wait(use, stream);
  }
  EXPECT_EQ(device_.calls(Verb::kAny), 3) << "the streams of this test";
}

TEST_F(StreamOrderTest, NobodyWaitsForWhatNobodyUsed) {
  EXPECT_FALSE(order_->NeedsWait(StreamUse(), a_));
  EXPECT_TRUE(order_->IsDone(StreamUse()));
}

TEST_F(StreamOrderTest, AnotherStreamWaitsOnceForAllUsesSoFar) {
  const StreamUse first = order_->Use(a_);
  const StreamUse second = order_->Use(a_);
  EXPECT_TRUE(order_->NeedsWait(first, b_));
  Wait(second, b_);
  EXPECT_FALSE(order_->NeedsWait(first, b_));
  Wait(first, b_);
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(b_.handle, a_.handle)));
  Wait(order_->Use(a_), b_);
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(b_.handle, a_.handle)));
  EXPECT_EQ(device_.calls(Verb::kCreateEvent), 1);
  EXPECT_EQ(device_.calls(Verb::kSynchronize), 0);
}

TEST_F(StreamOrderTest, OneMarkServesAllWhoWait) {
  const StreamUse use = order_->Use(a_);
  Wait(use, b_);
  Wait(use, c_);
  Wait(use, Stream());
  EXPECT_EQ(device_.calls(Verb::kRecord), 1);
  EXPECT_EQ(device_.calls(Verb::kStreamWait), 3);
}

TEST_F(StreamOrderTest, ATwoStreamUseIsWaitedForTwice) {
  StreamUse use = order_->Use({a_, b_});
  Wait(use, c_);
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(c_.handle, a_.handle),
                                               Pair(c_.handle, b_.handle)));
  Wait(use, b_);
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(b_.handle, a_.handle)));
  use.Add(order_->Use(Stream()));
  Wait(use, a_);
  EXPECT_THAT(device_.TakeWaits(),
              ElementsAre(Pair(a_.handle, 0), Pair(a_.handle, b_.handle)));
}

TEST_F(StreamOrderTest, WhatIsDoneNeedsNoWait) {
  const StreamUse use = order_->Use(a_);
  EXPECT_FALSE(order_->IsDone(use));
  EXPECT_TRUE(order_->Ask(use).value());
  EXPECT_TRUE(order_->IsDone(use));
  Wait(use, b_);
  EXPECT_THAT(device_.TakeWaits(), IsEmpty());
  EXPECT_FALSE(order_->IsDone(order_->Use(a_)));
}

TEST_F(StreamOrderTest, AMarkOnItsWayIsNotReplaced) {
  device_.SetBusy(a_);
  const StreamUse first = order_->Use(a_);
  EXPECT_FALSE(order_->Ask(first).value());
  const StreamUse second = order_->Use(a_);
  EXPECT_FALSE(order_->Ask(second).value());
  EXPECT_EQ(device_.calls(Verb::kRecord), 1);
  device_.SetIdle(a_);
  EXPECT_TRUE(order_->Ask(first).value());
  EXPECT_EQ(device_.calls(Verb::kRecord), 1);
  EXPECT_FALSE(order_->IsDone(second));
  EXPECT_TRUE(order_->Ask(second).value());
  EXPECT_EQ(device_.calls(Verb::kRecord), 2);
}

TEST_F(StreamOrderTest, TheHostWaitsOnlyForStreamsThatAreNotDone) {
  device_.SetBusy(a_);
  const StreamUse use = order_->Use({a_, b_});
  ASSERT_THAT(order_->Finish(use), IsOk());
  EXPECT_EQ(device_.calls(Verb::kSynchronize), 1);
  EXPECT_TRUE(order_->IsDone(use));
  ASSERT_THAT(order_->Finish(use), IsOk());
  EXPECT_EQ(device_.calls(Verb::kSynchronize), 1);
}

TEST_F(StreamOrderTest, FailuresChangeNothing) {
  const StreamUse use = order_->Use(a_);
  refused_events_ = 1;
  for (const Verb verb :
       {Verb::kCreateEvent, Verb::kRecord, Verb::kStreamWait}) {
    device_.FailCall(verb, 1, error_);
    EXPECT_EQ(order_->Wait(use, b_), error_);
    EXPECT_TRUE(order_->NeedsWait(use, b_));
    order_->CheckInvariants();
  }
  Wait(use, b_);
  const StreamUse later = order_->Use(a_);
  for (const Verb verb : {Verb::kRecord, Verb::kHasHappened}) {
    device_.FailCall(verb, 1, error_);
    EXPECT_EQ(order_->Ask(later).status(), error_);
    EXPECT_FALSE(order_->IsDone(later));
  }
  device_.SetBusy(b_);
  const StreamUse busy = order_->Use(b_);
  device_.FailCall(Verb::kSynchronize, 1, error_);
  EXPECT_EQ(order_->Finish(busy), error_);
  EXPECT_FALSE(order_->IsDone(busy));
}

TEST_F(StreamOrderTest, AStreamThatEndedIsDone) {
  device_.SetBusy(a_);
  const StreamUse use = order_->Use(a_);
  order_->End(a_);
  EXPECT_TRUE(order_->IsDone(use));
  Wait(use, b_);
  EXPECT_THAT(device_.TakeWaits(), IsEmpty());
  order_->FinishAll();
  EXPECT_EQ(device_.calls(Verb::kSynchronize), 2) << "the default one and b";
}

TEST_F(StreamOrderTest, AStreamThatEndedIsNotAskedAboutWhatOthersDidLater) {
  StreamUse use = order_->Use(a_);
  order_->End(a_);
  Wait(order_->Use(b_), c_);
  use.Add(order_->Use(b_));
  device_.SetBusy(b_);
  EXPECT_FALSE(order_->Ask(use).value());
  Wait(use, c_);
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(c_.handle, b_.handle),
                                               Pair(c_.handle, b_.handle)));
  order_->Use(Stream{.handle = 777});  // takes the place of a
  Wait(use, Stream());
  EXPECT_THAT(device_.TakeWaits(), ElementsAre(Pair(0, b_.handle)));
  order_->End(Stream{.handle = 777});
}

TEST_F(StreamOrderTest, AnotherStreamMayGetTheHandleOfOneThatEnded) {
  Wait(order_->Use(b_), a_);
  const StreamUse before = order_->Use(b_);
  order_->End(a_);
  EXPECT_TRUE(order_->NeedsWait(before, a_)) << "it waited for nobody yet";
  const StreamUse use = order_->Use(a_);
  EXPECT_TRUE(order_->NeedsWait(use, b_));
  Wait(use, b_);
  EXPECT_EQ(order_->size(), 3u);
}

TEST_F(StreamOrderTest, EndsOfStreamsNeverNamedAndOfTheDefaultOneAreIgnored) {
  const StreamUse use = order_->Use(Stream());
  order_->End(a_);
  order_->End(Stream());
  EXPECT_TRUE(order_->NeedsWait(use, b_));
}

TEST_F(StreamOrderTest, ThousandsOfStreamsOneAfterAnotherTakeOnePlace) {
  for (int i = 0; i < 5000; ++i) {
    const Stream stream = device_.CreateStream().value();
    Wait(order_->Use(stream), a_);
    Wait(order_->Use(a_), stream);
    ASSERT_THAT(device_.DestroyStream(stream), IsOk());
    order_->End(stream);
  }
  EXPECT_EQ(device_.calls(Verb::kCreateEvent), 2);
}

TEST_F(StreamOrderTest, StreamsPastThe63rdCountAsAllOfThem) {
  order_->Use(a_);  // the second, after the default one
  std::vector<Stream> streams;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(device_.CreateStream().value());
    order_->Use(streams.back());
  }
  const StreamUse use = order_->Use(streams[90]);
  Wait(use, a_);
  EXPECT_EQ(device_.TakeWaits().size(), 39u);
  Wait(use, a_);
  EXPECT_THAT(device_.TakeWaits(), IsEmpty());
  EXPECT_TRUE(order_->NeedsWait(use, streams[90])) << "it may be another's";
  Wait(use, streams[90]);
  EXPECT_EQ(device_.TakeWaits().size(), 38u);
  const StreamUse few = order_->Use(streams[5]);
  Wait(few, streams[90]);
  EXPECT_EQ(device_.TakeWaits().size(), 1u);
}

TEST_F(StreamOrderTest, ItsEndTriesTwice) {
  order_->Use(a_);
  device_.FailCall(Verb::kSynchronize, 1, error_);
  order_->FinishAll();
  EXPECT_EQ(device_.calls(Verb::kSynchronize), 3);
}

}  // namespace
}  // namespace rekindle
