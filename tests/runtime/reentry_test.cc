// SPDX-License-Identifier: Apache-2.0
// Kernels that call back, and handles that end inside.
#include <optional>

#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

class ReentryTest : public RuntimeTest {
 protected:
  // Runs `work` in a kernel.
  template <typename Work>
  void Inside(Work work) {
    const Tensor y = CallWith([work](KernelArgs&) {
      work();
      return absl::OkStatus();
    });
    EXPECT_THAT(y.status(), IsOk());
  }
};

TEST_F(ReentryTest, TensorsMadeInAKernelCarryAnError) {
  Tensor x = Full(1);
  Tensor called, constant, adopted, snapshot;
  Inside([&] {
    called = Add(x, 1);
    constant = Full(2);
    adopted = rt_->Adopt(F32({1}), 64, nullptr);
    snapshot = x.Snapshot();
  });
  for (const Tensor& tensor : {called, constant, adopted, snapshot}) {
    EXPECT_THAT(tensor.status(), IsFailedPrecondition());
    EXPECT_THAT(std::string(tensor.status().message()), HasSubstr("kernel"));
  }
}

TEST_F(ReentryTest, OperationsInAKernelFail) {
  Tensor x = Full(1);
  Inside([&] {
    EXPECT_THAT(x.Read(), IsFailedPrecondition());
    EXPECT_THAT(x.Write(), IsFailedPrecondition());
    EXPECT_THAT(x.ToHost<float>(), IsFailedPrecondition());
    EXPECT_THAT(x.Detach(), IsFailedPrecondition());
    EXPECT_THAT(rt_->BeginStep(), IsFailedPrecondition());
    EXPECT_THAT(rt_->SetBudget(kMiB), IsFailedPrecondition());
    EXPECT_THAT(rt_->MinimumBudget(), IsFailedPrecondition());
    EXPECT_FALSE(x.Evict());
    EXPECT_FALSE(x.resident());
    EXPECT_EQ(rt_->Stats().engine.calls, 0);
  });
  EXPECT_EQ(Value(x), 1);
}

TEST_F(ReentryTest, BadViewMadeInAKernelDoesNotDeadlock) {
  Tensor x = Full(1);
  Inside([&] { EXPECT_THAT(x.Slice(5, 3).status(), IsInvalidArgument()); });
}

TEST_F(ReentryTest, ScopesWorkInAKernel) {
  Inside([&] { Scope scope(*rt_, "inside"); });
}

TEST_F(ReentryTest, HandleDroppedInAKernelEndsAfterIt) {
  std::optional<Tensor> x = Full(1);
  Inside([&] { x.reset(); });
  EXPECT_EQ(rt_->Stats().engine.storages, 0);
}

TEST_F(ReentryTest, GuardEndedInAKernelEndsAfterIt) {
  Tensor y = Add(Full(1), 1);
  std::optional<ReadGuard> guard = y.Read().value();
  Inside([&] { guard.reset(); });
  EXPECT_EQ(rt_->Stats().engine.pinned_bytes, 0u);
  EXPECT_TRUE(y.Evict());
}

TEST_F(ReentryTest, HandleCapturedByAKernelEndsWithTheCall) {
  Tensor captured = Full(1);
  Tensor y = CallWith([captured](KernelArgs&) { return captured.status(); });
  captured = Tensor();
  EXPECT_EQ(rt_->Stats().engine.storages, 2);
  y = Tensor();
  EXPECT_EQ(rt_->Stats().engine.storages, 0);
}

TEST_F(ReentryTest, CapturedHandlesMayOutliveTheRuntime) {
  Tensor captured = Full(1);
  Tensor y = CallWith([captured](KernelArgs&) { return captured.status(); });
  captured = Tensor();
  rt_ = nullptr;
  y = Tensor();  // ASan: nothing leaks
}

TEST_F(ReentryTest, DeleterOfAdoptedMemoryMayUseTheRuntime) {
  float memory = 3;
  Tensor made;
  {
    const Tensor x =
        rt_->Adopt(F32({1}), reinterpret_cast<DeviceAddress>(&memory),
                   [&] { made = Full(5); });
    EXPECT_EQ(Value(x), 3);
  }
  EXPECT_EQ(Value(made), 5);
}

}  // namespace
}  // namespace rekindle
