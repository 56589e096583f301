// SPDX-License-Identifier: Apache-2.0
// Runtime: creation, steps, adopted memory, budget, statistics.
#include "rekindle/runtime/runtime.h"

#include "rekindle/device/counting/counting_device.h"
#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

absl::Status CreateStatus(RuntimeOptions options) {
  return Runtime::Create(std::move(options)).status();
}

TEST(RuntimeCreateTest, DefaultsOpenTheHost) {
  const auto rt = Runtime::Create().value();
  EXPECT_EQ(rt->device().name(), "host");
  EXPECT_EQ(rt->Stats().device.created, 0u);
}

TEST(RuntimeCreateTest, CudaIsNotOpenedByName) {
  RuntimeOptions options;
  options.device = "cuda:0";
  const absl::Status status = CreateStatus(options);
  EXPECT_THAT(status, HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(std::string(status.message()), HasSubstr("custom_device"));
}

TEST(RuntimeCreateTest, BadOptionsAreRefused) {
  RuntimeOptions options;
  options.device = "abacus";
  EXPECT_THAT(CreateStatus(options), IsInvalidArgument());
  options = {};
  options.policy = "hope";
  EXPECT_THAT(CreateStatus(options), IsInvalidArgument());
  options = {};
  options.pin_wait = std::chrono::milliseconds(-1);
  EXPECT_THAT(CreateStatus(options), IsInvalidArgument());
  options = {};
  options.chunk_bytes = 12345;
  EXPECT_THAT(CreateStatus(options), IsInvalidArgument());
}

class RuntimeObjectTest : public RuntimeTest {};

TEST_F(RuntimeObjectTest, BudgetAboveTheDeviceBecomesTheDevice) {
  RuntimeOptions options = Options(Budget::Bytes(kGiB));
  options.log_level = 0;
  Open(std::move(options));
  EXPECT_EQ(rt_->Stats().allocator.budget, 1024 * kChunk);
}

TEST_F(RuntimeObjectTest, CountingDeviceRunsNoKernelAndCountsTheirTime) {
  std::shared_ptr<CountingDevice> device = CountingDevice::Open({}).value();
  RuntimeOptions options = Options(Budget::Unlimited());
  options.custom_device = device;
  Open(std::move(options));
  const Tensor y =
      CallWith([](KernelArgs&) { return absl::InternalError("it ran"); },
               {.flops = 1e12});
  EXPECT_THAT(y.status(), IsOk());
  EXPECT_GE(device->now(), std::chrono::seconds(1));
  EXPECT_LT(device->now(), std::chrono::seconds(2));
}

TEST_F(RuntimeObjectTest, MeasuredCostIsTimeSpent) {
  RuntimeOptions options = Options(Budget::Unlimited());
  options.cost_model = CostModel::kMeasured;
  Open(std::move(options));
  Add(Full(1), 1);
  EXPECT_GT(rt_->Stats().engine.call_cost, 0);
  EXPECT_LT(rt_->Stats().engine.call_cost, 10);
}

// Steps. ----------------------------------------------------------------------

TEST_F(RuntimeObjectTest, BeginStepMakesConstantsOfWhatOutlivesTheStep) {
  Tensor state = Full(0);
  for (int step = 0; step < 5; ++step) {
    ASSERT_THAT(rt_->BeginStep(), IsOk());
    EXPECT_EQ(rt_->Stats().engine.lineage_calls, 0);
    state = Add(state, 1);
    state.Evict();
  }
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  EXPECT_FALSE(state.Evict());
  EXPECT_EQ(Value(state), 5);
  EXPECT_EQ(rt_->Stats().steps, 6);
}

TEST_F(RuntimeObjectTest, BeginStepReturnsTheFirstErrorOnce) {
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  CallWith([](KernelArgs&) { return absl::DataLossError("first"); });
  CallWith([](KernelArgs&) { return absl::InternalError("second"); });
  const absl::Status status = rt_->BeginStep();
  EXPECT_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  EXPECT_THAT(std::string(status.message()), HasSubstr("first"));
  EXPECT_THAT(rt_->BeginStep(), IsOk());
}

TEST_F(RuntimeObjectTest, BeginStepThatReturnsAnErrorHasDoneItsWork) {
  Tensor state = Add(Full(0), 1);
  CallWith([](KernelArgs&) { return absl::InternalError("no"); });
  EXPECT_FALSE(rt_->BeginStep().ok());
  EXPECT_FALSE(state.Evict());
}

TEST_F(RuntimeObjectTest, ErrorsOfSkippedUpdatesSurfaceAtBeginStep) {
  const Tensor bad = rt_->Constant(F32({-1}), nullptr, {.name = "bad"});
  rt_->Call({.mutates = {0}}, {Full(1), bad}, {}, InPlaceKernel(1, 1));
  const absl::Status status = rt_->BeginStep();
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"bad\""));
}

// Adopted memory. -------------------------------------------------------------

TEST_F(RuntimeObjectTest, AdoptedMemoryIsReadAndNotCounted) {
  Floats memory = {1, 2};
  int deleted = 0;
  {
    const Tensor x =
        rt_->Adopt(F32({2}), reinterpret_cast<DeviceAddress>(memory.data()),
                   [&deleted] { ++deleted; }, {.name = "mine"});
    EXPECT_EQ(Values(x), memory);
    EXPECT_EQ(Values(Add(x, 1)), (Floats{2, 3}));
    EXPECT_EQ(rt_->Stats().allocator.requested_bytes, 0u);
  }
  EXPECT_EQ(deleted, 1);
}

TEST_F(RuntimeObjectTest, AdoptedMemoryStaysWhileSomethingNeedsIt) {
  Floats memory(kN, 1);
  int deleted = 0;
  Tensor x =
      rt_->Adopt(F32({kN}), reinterpret_cast<DeviceAddress>(memory.data()),
                 [&deleted] { ++deleted; });
  Tensor y = Add(x, 1);
  x = Tensor();
  EXPECT_EQ(deleted, 0);
  ASSERT_TRUE(y.Evict());
  EXPECT_EQ(Value(y), 2);
  y = Tensor();
  EXPECT_EQ(deleted, 1);
}

TEST_F(RuntimeObjectTest, RefusedAdoptionReleasesTheMemory) {
  int deleted = 0;
  const Tensor x = rt_->Adopt(F32({2}), 0, [&deleted] { ++deleted; });
  EXPECT_THAT(x.status(), IsInvalidArgument());
  EXPECT_EQ(deleted, 1);
}

TEST_F(RuntimeObjectTest, AdoptedMemoryMayBeUpdatedInPlace) {
  Floats memory = {1, 2};
  const Tensor x = rt_->Adopt(
      F32({2}), reinterpret_cast<DeviceAddress>(memory.data()), nullptr);
  AddInPlace(x, 1);
  EXPECT_EQ(memory, (Floats{2, 3}));
}

// Budget and statistics. ------------------------------------------------------

TEST_F(RuntimeObjectTest, LowerBudgetGivesMemoryBackAtOnce) {
  std::vector<Tensor> chain = {Full(0)};
  for (int i = 0; i < 10; ++i) chain.push_back(Add(chain.back(), 1));
  ASSERT_THAT(rt_->SetBudget(4 * kChunk), IsOk());
  EXPECT_LE(rt_->Stats().device.created, 4 * kChunk);
  EXPECT_EQ(Value(chain.back()), 10);
  EXPECT_EQ(Value(chain[5]), 5);
  EXPECT_LE(rt_->Stats().device.created, 4 * kChunk);
}

TEST_F(RuntimeObjectTest, BudgetOfNothingIsRefused) {
  EXPECT_THAT(rt_->SetBudget(0), IsInvalidArgument());
}

TEST_F(RuntimeObjectTest, StatisticsCountCallsAndSteps) {
  const Tensor x = Full(1, {.kind = Kind::kParameter});
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  const Tensor y = Add(x, 1);
  const RuntimeStats stats = rt_->Stats();
  EXPECT_EQ(stats.steps, 1);
  EXPECT_EQ(stats.engine.calls, 1);
  EXPECT_EQ(stats.engine.resident_bytes[static_cast<int>(Kind::kParameter)],
            kChunk);
  EXPECT_EQ(stats.allocator.requested_bytes, 2 * kChunk);
  EXPECT_EQ(stats.device.created, stats.allocator.physical_bytes);
}

TEST_F(RuntimeObjectTest, StatisticsPrintForPeople) {
  const Tensor x = Full(1, {.kind = Kind::kParameter});
  EXPECT_THAT(ToString(rt_->Stats()),
              AllOf(HasSubstr("budget 4.00 MiB"),
                    HasSubstr("parameter 4.00 KiB"), HasSubstr("0 calls")));
}

TEST_F(RuntimeObjectTest, StatisticsArePrintedAtTheEndIfAsked) {
  RuntimeOptions options = Options(Budget::Unlimited());
  options.print_stats = true;
  Open(std::move(options));
  ::testing::internal::CaptureStderr();
  rt_ = nullptr;
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("budget"));
}

TEST_F(RuntimeObjectTest, ScopesNest) {
  Scope outer(*rt_, "block3");
  {
    Scope inner(*rt_, "attention");
    const Tensor x = rt_->Constant(F32({-1}), nullptr, {.name = "w"});
    EXPECT_THAT(std::string(x.status().message()),
                HasSubstr("\"block3/attention/w\""));
  }
  const Tensor x = rt_->Constant(F32({-1}), nullptr, {.name = "w"});
  EXPECT_THAT(std::string(x.status().message()), HasSubstr("\"block3/w\""));
}

TEST(CountingRuntimeTest, ThereAreNoBytesToRead) {
  RuntimeOptions options;
  options.device = "counting";
  const auto rt = Runtime::Create(options).value();
  Tensor x = rt->Constant(F32({4}), nullptr);
  EXPECT_THAT(x.Read(), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(x.Write(), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(x.Keep(), IsOk());
  EXPECT_EQ(x.ToHost<float>().value(), std::vector<float>(4, 0.0f));
}

}  // namespace
}  // namespace rekindle
