// SPDX-License-Identifier: Apache-2.0
// Every device call of a workload fails in turn.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/device/fault_injecting_device.h"
#include "tests/engine/engine_fixture.h"

namespace rekindle {
namespace {

using Verb = FaultInjectingDevice::Verb;

class FaultsTest : public EngineTest {
 protected:
  struct Value {
    StorageId id;
    Words words;
  };

  void OpenFaulty() {
    Open(kUnlimited);
    engine_.reset();
    allocator_.reset();
    faults_ = std::make_unique<FaultInjectingDevice>(*device_);
    VmmAllocatorOptions options;
    options.budget = 6 * kGranularity;
    options.small_block_limit = 0;
    allocator_ = VmmAllocator::Create(*faults_, options).value();
    engine_ = std::make_unique<Engine>(
        *faults_, *allocator_, MakePolicy("dtr_eq:release=lazy").value());
  }

  // Calls, updates of a constant and of a value with an evicted reader, a
  // snapshot; needs evictions, recomputations and copies. Adds to `values_`
  // what it has made so far.
  absl::Status Work() {
    const Words ramp = MixAll({}, 1, kWords);
    RK_ASSIGN_OR_RETURN(const StorageId x,
                        engine_->AddConstant(kWords * 4, Kind::kInput, {"x"}));
    Poke(x, ramp);
    values_.push_back({x, ramp});
    for (uint32_t i = 0; i < 6; ++i) {
      RK_RETURN_IF_ERROR(Call(values_.size() - 1, i));
    }
    engine_->Evict(values_.back().id);
    RK_RETURN_IF_ERROR(Update(values_.size() - 1));
    engine_->AddReference(values_[3].id);
    values_.push_back(values_[3]);
    RK_RETURN_IF_ERROR(Update(3));
    RK_RETURN_IF_ERROR(Call(1, 20));
    for (size_t i = 0; i < 4; ++i) DropLast();
    RK_RETURN_IF_ERROR(Update(0));
    return Check();
  }

  absl::Status Call(size_t input, uint32_t salt) {
    RK_ASSIGN_OR_RETURN(
        CallResult result,
        engine_->Run(MixCall({values_[input].id}, {kWords}, {kWords}, salt)));
    values_.push_back(
        {result.outputs[0], MixAll({values_[input].words}, salt, kWords)});
    return absl::OkStatus();
  }

  absl::Status Update(size_t at) {
    RK_ASSIGN_OR_RETURN(CallResult result,
                        engine_->Run(BumpCall(values_[at].id, kWords, 7)));
    values_[at] = {result.updated[0], Bumped(values_[at].words, 7)};
    return absl::OkStatus();
  }

  absl::Status Check() {
    for (const Value& value : values_) {
      RK_ASSIGN_OR_RETURN(const DeviceAddress address,
                          engine_->Pin(value.id, {"check"}));
      const auto* data = reinterpret_cast<const uint32_t*>(address);
      EXPECT_EQ(Words(data, data + kWords), value.words);
      engine_->Unpin(value.id);
    }
    return absl::OkStatus();
  }

  void DropLast() {
    engine_->DropReference(values_.back().id);
    values_.pop_back();
  }

  // False once there is no n-th call.
  bool RunWithFault(Verb verb, int64_t n, absl::StatusCode code) {
    OpenFaulty();
    faults_->FailCall(verb, n, absl::Status(code, "injected"));
    const absl::Status status = Work();
    const bool injected = faults_->failures() > 0;
    EXPECT_TRUE(status.ok() || status.code() == code) << status;
    EXPECT_TRUE(injected || status.ok()) << status;
    faults_->Clear();
    engine_->CheckInvariants();
    EXPECT_TRUE(Check().ok());
    while (!values_.empty()) DropLast();
    EXPECT_EQ(engine_->stats().storages, 0);
    EXPECT_EQ(allocator_->stats().live_blocks, 0);
    EXPECT_TRUE(Work().ok());
    while (!values_.empty()) DropLast();
    engine_->CheckInvariants();
    engine_.reset();
    allocator_.reset();
    EXPECT_EQ(device_->memory_info().created, 0u);
    return injected;
  }

  std::unique_ptr<FaultInjectingDevice> faults_;
  std::vector<Value> values_;
};

TEST_F(FaultsTest, AnyFailingCallIsAnErrorAndLosesNothing) {
  for (absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kResourceExhausted}) {
    int64_t n = 1;
    while (RunWithFault(Verb::kAny, n, code) && !HasFailure()) ++n;
    EXPECT_GT(n, 10);
  }
}

// What a victim had must go back to the device, at once or with an error.
TEST_F(FaultsTest, ALoweredBudgetHoldsOrIsAnError) {
  for (int64_t times : {1, 2}) {
    OpenFaulty();
    const StorageId x = Constant(Ramp());
    const StorageId y = Next(x, kWords);
    const StorageId z = Next(x, kWords, 2);
    faults_->FailCall(Verb::kUnmap, 1, absl::UnavailableError("injected"),
                      times);
    const absl::Status status = engine_->SetBudget(2 * kGranularity);
    const bool held = device_->memory_info().created <= 2 * kGranularity;
    EXPECT_GT(faults_->failures(), 0);
    EXPECT_TRUE(status.ok() ? held : absl::IsUnavailable(status)) << status;
    faults_->Clear();
    EXPECT_TRUE(engine_->SetBudget(2 * kGranularity).ok());
    EXPECT_LE(device_->memory_info().created, 2 * kGranularity);
    engine_->CheckInvariants();
    EXPECT_EQ(Read(y, kWords), MixAll({Ramp()}, 1, kWords));
    EXPECT_EQ(Read(z, kWords), MixAll({Ramp()}, 2, kWords));
    engine_.reset();
    allocator_.reset();
  }
}

TEST_F(FaultsTest, APinThatEndsGivesBackThoughTheDeviceRefusesOnce) {
  OpenFaulty();
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  ASSERT_TRUE(engine_->Pin(y, {"guard"}).ok());
  ASSERT_TRUE(engine_->SetBudget(kGranularity).ok());
  ASSERT_EQ(device_->memory_info().created, 2 * kGranularity);
  faults_->FailCall(Verb::kUnmap, 1, absl::UnavailableError("injected"));
  engine_->Unpin(y);
  EXPECT_EQ(faults_->failures(), 1);
  EXPECT_EQ(device_->memory_info().created, kGranularity);
  engine_->CheckInvariants();
  engine_.reset();
  allocator_.reset();
}

}  // namespace
}  // namespace rekindle
