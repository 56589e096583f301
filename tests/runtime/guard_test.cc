// SPDX-License-Identifier: Apache-2.0
// ReadGuard and WriteGuard.
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/device/fault_injecting_device.h"
#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GuardTest : public RuntimeTest {};

TEST_F(GuardTest, GuardGivesTheBytes) {
  const Tensor y = Add(Full(1), 2);
  const ReadGuard guard = y.Read().value();
  EXPECT_EQ(guard.data<float>()[0], 3);
  EXPECT_EQ(guard.data<float>()[kN - 1], 3);
}

TEST_F(GuardTest, GuardOfAViewPointsIntoTheStorage) {
  const Tensor x = Full(1);
  const ReadGuard whole = x.Read().value();
  const ReadGuard row = x.Slice(3, 4).Read().value();
  EXPECT_EQ(row.address(), whole.address() + 3 * sizeof(float));
}

TEST_F(GuardTest, PinnedValueCannotBeGivenUp) {
  Tensor y = Add(Full(1), 2);
  {
    const ReadGuard guard = y.Read().value();
    EXPECT_FALSE(y.Evict());
    EXPECT_EQ(rt_->Stats().engine.pinned_bytes, kChunk);
  }
  EXPECT_EQ(rt_->Stats().engine.pinned_bytes, 0u);
  EXPECT_TRUE(y.Evict());
}

TEST_F(GuardTest, EndUnpinsBeforeTheScopeEnds) {
  Tensor y = Add(Full(1), 2);
  ReadGuard guard = y.Read().value();
  guard.End();
  EXPECT_EQ(guard.address(), 0u);
  EXPECT_TRUE(y.Evict());
  guard.End();  // harmless
}

TEST_F(GuardTest, MovedGuardKeepsThePin) {
  Tensor y = Add(Full(1), 2);
  ReadGuard guard = y.Read().value();
  ReadGuard other = std::move(guard);
  EXPECT_FALSE(y.Evict());
  guard = std::move(other);
  EXPECT_FALSE(y.Evict());
  guard = ReadGuard();
  EXPECT_TRUE(y.Evict());
}

TEST_F(GuardTest, EachGuardPinsOnItsOwn) {
  Tensor y = Add(Full(1), 2);
  ReadGuard a = y.Read().value();
  ReadGuard b = y.Keep().value();
  a.End();
  EXPECT_FALSE(y.Evict());
  b.End();
  EXPECT_TRUE(y.Evict());
}

TEST_F(GuardTest, GuardKeepsTheValueThatItReadThroughAnUpdate) {
  const Tensor x = Full(1);
  const ReadGuard guard = x.Read().value();
  AddInPlace(x, 1);
  EXPECT_EQ(guard.data<float>()[0], 1);
  EXPECT_EQ(Value(x), 2);
}

TEST_F(GuardTest, GuardKeepsTheBytesOfADroppedTensor) {
  Tensor y = Add(Full(1), 2);
  ReadGuard guard = y.Read().value();
  y = Tensor();
  EXPECT_EQ(guard.data<float>()[0], 3);
  guard.End();
  EXPECT_EQ(rt_->Stats().engine.storages, 0);
}

TEST_F(GuardTest, GuardMayOutliveRuntimeAndTensor) {
  Tensor y = Add(Full(1), 2);
  const ReadGuard guard = y.Read().value();
  y = Tensor();
  rt_ = nullptr;
  EXPECT_EQ(guard.data<float>()[0], 3);
}

TEST_F(GuardTest, WriteChangesAConstant) {
  Tensor x = Full(1);
  WriteGuard guard = x.Write().value();
  guard.data<float>()[0] = 7;
  guard.End();
  EXPECT_EQ(Values(x)[0], 7);
  EXPECT_EQ(Values(x)[1], 1);
}

TEST_F(GuardTest, WriteThroughAViewChangesTheWholeVariable) {
  Tensor x = Make({1, 2, 3});
  Tensor last = x.Slice(2, 3);
  last.Write().value().data<float>()[0] = 9;
  EXPECT_THAT(Values(x), ElementsAre(1, 2, 9));
}

TEST_F(GuardTest, NobodyUsesAVariableWhileItIsWritten) {
  Tensor x = Full(1);
  WriteGuard guard = x.Write().value();
  EXPECT_THAT(Add(x, 1).status(), IsFailedPrecondition());
  EXPECT_THAT(x.Read(), IsFailedPrecondition());
  EXPECT_THAT(x.Slice(0, 1).Write(), IsFailedPrecondition());
  EXPECT_THAT(x.Snapshot().status(), IsFailedPrecondition());
  guard.data<float>()[0] = 5;
  guard.End();
  EXPECT_EQ(x.ToHost<float>().value()[0], 5);
  EXPECT_TRUE(x.Write().ok());
}

TEST_F(GuardTest, BytesAboveALoweredBudgetGoAsPinsEnd) {
  const Tensor x = Full(1);
  std::vector<Tensor> made;
  std::vector<ReadGuard> guards;
  for (int i = 0; i < 8; ++i) {
    made.push_back(Add(x, 1));
    guards.push_back(made.back().Read().value());
  }
  ASSERT_TRUE(rt_->SetBudget(4 * kChunk).ok());
  EXPECT_EQ(rt_->Stats().device.created, 9 * kChunk);
  guards.clear();
  EXPECT_LE(rt_->Stats().device.created, 4 * kChunk);
}

TEST_F(GuardTest, WriteIsForConstantsOnly) {
  Tensor y = Add(Full(1), 2);
  EXPECT_THAT(y.Write(), IsFailedPrecondition());
  EXPECT_EQ(Value(y), 3);
}

TEST_F(GuardTest, WriteLeavesWhatWasComputedFromTheOldValue) {
  Tensor x = Full(1);
  Tensor y = Add(x, 2);
  ASSERT_TRUE(y.Evict());
  Tensor snapshot = x.Snapshot();
  x.Write().value().data<float>()[0] = 100;
  EXPECT_EQ(Value(y), 3);
  EXPECT_EQ(Value(snapshot), 1);
}

// Writes down the order in which streams wait for each other.
class StreamLog : public FaultInjectingDevice {
 public:
  explicit StreamLog(std::shared_ptr<Device> device)
      : FaultInjectingDevice(*device), device_(std::move(device)) {}

  absl::Status Record(Event event, Stream stream) override {
    lines.push_back(absl::StrCat("record on ", stream.handle));
    return FaultInjectingDevice::Record(event, stream);
  }
  absl::Status StreamWait(Stream stream, Event event) override {
    lines.push_back(absl::StrCat(stream.handle, " waits"));
    return FaultInjectingDevice::StreamWait(stream, event);
  }

  std::vector<std::string> lines;

 private:
  std::shared_ptr<Device> device_;
};

class GuardStreamTest : public RuntimeTest {
 protected:
  GuardStreamTest() : device_(std::make_shared<StreamLog>(SmallDevice())) {
    RuntimeOptions options = Options(Budget::Unlimited());
    options.custom_device = device_;
    Open(std::move(options));
    stream_ = device_->CreateStream().value();
  }
  ~GuardStreamTest() override {
    EXPECT_THAT(device_->DestroyStream(stream_), IsOk());
  }

  std::shared_ptr<StreamLog> device_;
  Stream stream_;
};

TEST_F(GuardStreamTest, ReadOnTheDefaultStreamNeedsNoEvents) {
  Full(1).Read().value().End();
  EXPECT_THAT(device_->lines, IsEmpty());
}

TEST_F(GuardStreamTest, ReaderWaitsForTheValueAndALaterWriterForTheReader) {
  Tensor x = Full(1);
  ReadGuard guard = x.Read(stream_).value();
  const std::string reader = absl::StrCat(stream_.handle);
  EXPECT_THAT(device_->lines, ElementsAre("record on 0", reader + " waits"));
  device_->lines.clear();
  guard.End();
  x.Read().value().End();
  EXPECT_THAT(device_->lines, IsEmpty());
  x.Write().value().End();
  EXPECT_THAT(device_->lines, ElementsAre("record on " + reader, "0 waits"));
}

TEST_F(GuardStreamTest, ReaderWaitsForAWriterOnAnotherStream) {
  Tensor x = Full(1);
  x.Write(stream_).value().End();
  device_->lines.clear();
  x.Read().value().End();
  x.Read().value().End();  // has waited already
  const std::string writer = absl::StrCat(stream_.handle);
  EXPECT_THAT(device_->lines, ElementsAre("record on " + writer, "0 waits"));
}

TEST_F(GuardStreamTest, StreamEndsWhenNoGuardIsOnIt) {
  const Stream stream = rt_->CreateStream().value();
  Tensor x = Full(1);
  ReadGuard guard = x.Read(stream).value();
  EXPECT_THAT(rt_->DestroyStream(stream),
              HasCode(absl::StatusCode::kFailedPrecondition));
  guard.End();
  EXPECT_THAT(rt_->DestroyStream(stream), IsOk());
  device_->lines.clear();
  x.Write().value().End();  // nobody to wait for
  EXPECT_THAT(device_->lines, IsEmpty());
  EXPECT_THAT(rt_->DestroyStream(Stream()),
              HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_F(GuardStreamTest, CallsOnTheProgramsStreamAreTheDefault) {
  RuntimeOptions options = Options(Budget::Unlimited());
  options.custom_device = device_;
  options.stream = stream_;
  Open(std::move(options));
  device_->lines.clear();
  const Tensor y = Add(Full(1), 2);
  const size_t lines = device_->lines.size();
  y.Read(stream_).value().End();
  EXPECT_EQ(device_->lines.size(), lines);
  rt_ = nullptr;
}

TEST_F(GuardStreamTest, EventsAreDestroyedWithTheRuntime) {
  Full(1).Read(stream_).value().End();
  Full(1).Read(stream_).value().End();
  rt_ = nullptr;
  using Verb = FaultInjectingDevice::Verb;
  EXPECT_EQ(device_->calls(Verb::kCreateEvent),
            device_->calls(Verb::kDestroyEvent));
}

TEST_F(GuardStreamTest, FailureToOrderLeavesNoPin) {
  Tensor y = Add(Full(1), 2);
  device_->FailCall(FaultInjectingDevice::Verb::kRecord, 1,
                    absl::InternalError("broken"));
  const absl::StatusOr<ReadGuard> guard = y.Read(stream_);
  EXPECT_THAT(guard, HasCode(absl::StatusCode::kInternal));
  EXPECT_THAT(std::string(guard.status().message()), HasSubstr("broken"));
  EXPECT_TRUE(y.Evict());
}

TEST_F(GuardStreamTest, WriterThatCannotWaitForAReaderChangesNothing) {
  Tensor x = Full(1);
  x.Read(stream_).value().End();
  device_->FailCall(FaultInjectingDevice::Verb::kRecord, 1,
                    absl::InternalError("broken"));
  EXPECT_THAT(x.Write().status(), HasCode(absl::StatusCode::kInternal));
  EXPECT_THAT(x.Write(), IsOk());
}

}  // namespace
}  // namespace rekindle
