// SPDX-License-Identifier: Apache-2.0
// Runtime::MinimumBudget: steps are written down, repeated, and fit where it
// says that they do.
#include "rekindle/runtime/minimum_budget.h"

#include "absl/strings/strip.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/device/counting/counting_device.h"
#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

class MinimumBudgetTest : public RuntimeTest {
 protected:
  // As RuntimeTest's device, without bytes.
  void OpenCounting() {
    CountingDeviceOptions device;
    device.capacity = 1024 * kChunk;
    device.granularity = kChunk;
    RuntimeOptions options = Options(Budget::Unlimited());
    options.custom_device = CountingDevice::Open(device).value();
    Open(std::move(options));
  }

  // The parameter, its moment, and a state carried from step to step.
  struct Model {
    Tensor w, m, state;
  };
  Model MakeModel() { return {Full(0), Full(0), Full(0)}; }

  // A forward and backward pass over `layers`, and an update in place.
  void Train(Model& model, int layers = 20) {
    std::vector<Tensor> chain = {Add(model.state, 1)};
    for (int i = 1; i < layers; ++i) chain.push_back(Add(chain.back(), 1));
    Tensor gradient = chain.back();
    for (int i = layers - 1; i >= 0; --i) {
      gradient = Sum(gradient, chain[static_cast<size_t>(i)]);
    }
    const Tensor norm = gradient.Slice(0, 1);
    const ReadGuard guard = norm.Keep().value();
    Update(model.w, model.m, gradient);
    model.state = Add(chain[0], 0);
  }
  Tensor Sum(const Tensor& a, const Tensor& b) {
    return rt_->Call({.name = "sum", .workspace_bytes = 1000}, {a, b},
                     {a.spec()}, [](KernelArgs& args) {
                       for (int64_t i = 0; i < kN; ++i) {
                         args.output<float>(0)[i] =
                             args.input<float>(0)[i] + args.input<float>(1)[i];
                       }
                       return absl::OkStatus();
                     })[0];
  }
  void Update(const Tensor& w, const Tensor& m, const Tensor& gradient) {
    rt_->Call({.name = "momentum", .mutates = {0, 1}}, {w, m, gradient}, {},
              [](KernelArgs& args) {
                for (int64_t i = 0; i < kN; ++i) {
                  float& moment = args.inout<float>(1)[i];
                  moment = 0.5f * moment + args.input<float>(2)[i];
                  args.inout<float>(0)[i] -= moment;
                }
                return absl::OkStatus();
              });
  }
};

TEST_F(MinimumBudgetTest, NeedsAWholeStep) {
  EXPECT_THAT(rt_->MinimumBudget(), IsFailedPrecondition());
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  EXPECT_THAT(rt_->MinimumBudget(), IsFailedPrecondition());
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  EXPECT_THAT(rt_->MinimumBudget(), IsOk());
}

TEST_F(MinimumBudgetTest, StepWithAnErrorDoesNotCount) {
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  CallWith([](KernelArgs&) { return absl::InternalError("no"); });
  EXPECT_FALSE(rt_->BeginStep().ok());
  EXPECT_THAT(rt_->MinimumBudget(), IsFailedPrecondition());
}

TEST_F(MinimumBudgetTest, RecordingCanBeTurnedOff) {
  RuntimeOptions options = Options(Budget::Unlimited());
  options.record_steps = false;
  Open(std::move(options));
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  const absl::Status status = rt_->MinimumBudget().status();
  EXPECT_THAT(status, IsFailedPrecondition());
  EXPECT_THAT(std::string(status.message()), HasSubstr("record_steps"));
}

TEST_F(MinimumBudgetTest, ChainNeedsItsConstantsAndAFewTensors) {
  Model model = MakeModel();
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  Train(model, 40);
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  const size_t budget = rt_->MinimumBudget().value();
  EXPECT_GE(budget, 6 * kChunk);   // constants, and what "sum" needs at once
  EXPECT_LE(budget, 20 * kChunk);  // without a limit: more than 40
}

TEST_F(MinimumBudgetTest, ProgramRunsAtTheBudgetWithTheSameResult) {
  Floats expected;
  size_t budget = 0;
  for (const bool limited : {false, true}) {
    Open(limited ? Budget::Bytes(budget) : Budget::Unlimited());
    Model model = MakeModel();
    for (int step = 0; step < 4; ++step) {
      ASSERT_THAT(rt_->BeginStep(), IsOk());
      Train(model);
    }
    ASSERT_THAT(rt_->BeginStep(), IsOk());
    if (!limited) {
      expected = Values(model.w);
      budget = rt_->MinimumBudget().value();
      continue;
    }
    EXPECT_EQ(Values(model.w), expected);
    EXPECT_GT(rt_->Stats().engine.recomputations, 0);
    EXPECT_LE(rt_->Stats().device.peak_created, budget);
  }
}

TEST_F(MinimumBudgetTest, DryRunOnACountingDeviceSaysTheSame) {
  std::vector<size_t> budgets;
  for (const bool counting : {false, true}) {
    counting ? OpenCounting() : Open(Budget::Unlimited());
    Model model = MakeModel();
    ASSERT_THAT(rt_->BeginStep(), IsOk());
    Train(model);
    ASSERT_THAT(rt_->BeginStep(), IsOk());
    budgets.push_back(rt_->MinimumBudget().value());
  }
  EXPECT_EQ(budgets[0], budgets[1]);
}

TEST_F(MinimumBudgetTest, AllKindsOfOperationsAreRepeated) {
  Floats memory(kN, 1);
  const Tensor adopted = rt_->Adopt(
      F32({kN}), reinterpret_cast<DeviceAddress>(memory.data()), nullptr);
  Tensor w = Full(1);
  const ReadGuard long_pin = w.Read().value();
  Generator generator(1);
  for (int step = 0; step < 2; ++step) {
    ASSERT_THAT(rt_->BeginStep(), IsOk());
    Tensor input = Full(3);
    Tensor y = Sum(adopted, input);
    const Tensor before = w.Snapshot();
    rt_->Call({.mutates = {0}}, {w, before}, {}, InPlaceKernel(kN, 1));
    w.Write().value().data<float>()[0] = 5;
    AddInPlace(y, 2);
    rt_->Call({.effects = {0}, .random = &generator, .pure = false}, {w, y},
              {F32({3})}, InPlaceKernel(kN, 1));
    ASSERT_THAT(y.Detach(), IsOk());
    EXPECT_EQ(Value(y), 6);
  }
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  EXPECT_LE(rt_->MinimumBudget().value(), 12 * kChunk);
}

TEST_F(MinimumBudgetTest, MeasuredCostsAreRepeated) {
  RuntimeOptions options = Options(Budget::Unlimited());
  options.cost_model = CostModel::kMeasured;
  Open(std::move(options));
  Model model = MakeModel();
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  Train(model);
  ASSERT_THAT(rt_->BeginStep(), IsOk());
  EXPECT_LE(rt_->MinimumBudget().value(), 20 * kChunk);
}

TEST_F(MinimumBudgetTest, LaterErrorNamesTheBudgetOfTheWholeStep) {
  Model model = MakeModel();
  const auto step = [&] {
    RK_RETURN_IF_ERROR(rt_->BeginStep());
    std::vector<Tensor> kept;
    for (int i = 0; i < 6; ++i) {
      kept.push_back(rt_->Call({.name = "load", .pure = false}, {}, {F32({kN})},
                               [](KernelArgs& a) {
                                 a.output<float>(0)[0] = 0;
                                 return absl::OkStatus();
                               })[0]);
      RK_RETURN_IF_ERROR(kept.back().status());
    }
    return absl::OkStatus();
  };
  ASSERT_THAT(step(), IsOk());
  ASSERT_THAT(rt_->SetBudget(6 * kChunk), IsOk());
  const absl::Status status = step();
  ASSERT_THAT(status, IsResourceExhausted());
  std::string message(status.message());
  const std::string before = "; a plan for the whole step exists at ";
  ASSERT_THAT(message, HasSubstr(before));
  message = message.substr(message.find(before) + before.size());
  ASSERT_THAT(
      rt_->SetBudget(ParseBytes(absl::StripSuffix(message, ".")).value()),
      IsOk());
  EXPECT_FALSE(rt_->BeginStep().ok());  // what failed above
  EXPECT_THAT(step(), IsOk());
}

}  // namespace
}  // namespace rekindle
