// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/recording_engine.h"

#include <memory>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/engine/replay.h"
#include "rekindle/evictor/policies.h"
#include "rekindle/runtime/minimum_budget.h"
#include "tests/base/status_matchers.h"

namespace rekindle::internal {
namespace {

constexpr size_t kChunk = 4096;

// An engine on a device that counts.
struct Machine {
  explicit Machine(size_t budget) {
    CountingDeviceOptions device_options;
    device_options.granularity = kChunk;
    device = CountingDevice::Open(device_options).value();
    VmmAllocatorOptions allocator_options;
    allocator_options.budget = budget;
    allocator = VmmAllocator::Create(*device, allocator_options).value();
    engine = std::make_unique<Engine>(
        *device, *allocator, MakePolicy("dtr_eq:release=lazy").value());
  }

  std::unique_ptr<CountingDevice> device;
  std::unique_ptr<Allocator> allocator;
  std::unique_ptr<Engine> engine;
};

class RecordingEngineTest : public ::testing::Test {
 protected:
  explicit RecordingEngineTest(size_t budget = 8 * kChunk)
      : machine_(budget), engine_(std::move(machine_.engine), true) {}

  StorageId Constant() {
    return engine_.AddConstant(kChunk, Kind::kOther, {"constant"}).value();
  }
  StorageId Call(StorageIds inputs, double cost = 1) {
    CallSpec spec;
    spec.label = {"call"};
    spec.inputs = std::move(inputs);
    spec.output_bytes = {kChunk};
    spec.cost = cost;
    spec.execute = [](const KernelBinding&) { return absl::OkStatus(); };
    return engine_.Run(std::move(spec)).value().outputs[0];
  }
  // Forward and backward over a chain, all of which is dropped at the end.
  void Chain(StorageId start) {
    std::vector<StorageId> chain = {start};
    for (int i = 1; i < 20; ++i) {
      chain.push_back(Call({chain.back()}, 1 + i % 3));
    }
    for (size_t i = 19; i > 0; --i) {
      EXPECT_THAT(engine_.Pin(chain[i], {"read"}, Stream()), IsOk());
      engine_.Unpin(chain[i], Stream());
      engine_.DropReference(chain[i]);
    }
  }

  Machine machine_;
  RecordingEngine engine_;
};

TEST_F(RecordingEngineTest, NothingIsWrittenDownBeforeTheFirstStep) {
  Constant();
  EXPECT_EQ(engine_.last_step(), nullptr);
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  EXPECT_EQ(engine_.last_step(), nullptr);
}

TEST_F(RecordingEngineTest, StepHasWhatWasAliveAndWhatWasAsked) {
  const StorageId w = Constant();
  engine_.AddReference(w);
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  const StorageId y = Call({w, w}, 3);
  engine_.DropReference(y);
  ASSERT_THAT(engine_.BeginStep(), IsOk());

  const Step& step = *engine_.last_step();
  ASSERT_EQ(step.initial.size(), 1u);
  EXPECT_EQ(step.initial[0].constant.storage, w);
  EXPECT_EQ(step.initial[0].references, 2);
  ASSERT_EQ(step.calls.size(), 1u);
  EXPECT_EQ(step.calls[0].spec.cost, 3);
  EXPECT_THAT(step.calls[0].spec.inputs, ::testing::ElementsAre(w, w));
  EXPECT_THAT(step.calls[0].result.outputs, ::testing::ElementsAre(y));
  ASSERT_EQ(step.operations.size(), 3u);
  EXPECT_EQ(step.operations[0].action, Step::Action::kCall);
  EXPECT_EQ(step.operations[1].action, Step::Action::kDropReference);
  EXPECT_EQ(step.operations[2].action, Step::Action::kDetachAll);
}

TEST_F(RecordingEngineTest, DiscardedStepLeavesTheOneBefore) {
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  const auto before = engine_.last_step();
  engine_.DiscardStep();
  Constant();
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  EXPECT_EQ(engine_.last_step(), before);
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  EXPECT_NE(engine_.last_step(), before);
}

TEST_F(RecordingEngineTest, ReplayMakesTheSameDecisions) {
  const StorageId w = Constant();
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  Chain(w);
  ASSERT_THAT(engine_.BeginStep(), IsOk());

  Machine other(8 * kChunk);
  ASSERT_THAT(Replay(*engine_.last_step(), *other.engine), IsOk());
  const EngineStats was = engine_.engine().stats();
  const EngineStats is = other.engine->stats();
  EXPECT_GT(was.recomputations, 0);
  EXPECT_EQ(is.recomputations, was.recomputations);
  EXPECT_EQ(is.evictions, was.evictions);
  EXPECT_EQ(is.releases, was.releases);
  EXPECT_EQ(is.call_cost, was.call_cost);
  EXPECT_EQ(is.recompute_cost, was.recompute_cost);
  EXPECT_EQ(is.peak_live_bytes, was.peak_live_bytes);
  EXPECT_EQ(is.storages, was.storages);
  EXPECT_EQ(other.allocator->stats().peak_physical_bytes,
            machine_.allocator->stats().peak_physical_bytes);
  other.engine->CheckInvariants();
}

TEST_F(RecordingEngineTest, ReplayFailsWhereTheBudgetDoesNotDo) {
  const StorageId w = Constant();
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  Chain(w);
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  Machine other(2 * kChunk);
  EXPECT_THAT(Replay(*engine_.last_step(), *other.engine),
              IsResourceExhausted());
}

TEST_F(RecordingEngineTest, ReplayStopsWhenTold) {
  const StorageId w = Constant();
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  Chain(w);
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  Machine other(8 * kChunk);
  int left = 5;
  EXPECT_THAT(
      Replay(*engine_.last_step(), *other.engine, [&] { return left-- > 0; }),
      HasCode(absl::StatusCode::kCancelled));
  EXPECT_EQ(other.engine->stats().calls, 5);
}

TEST_F(RecordingEngineTest, SearchForABudgetEndsAtItsDeadline) {
  const StorageId w = Constant();
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  Chain(w);
  ASSERT_THAT(engine_.BeginStep(), IsOk());
  const ReplayOptions options = {kChunk, 0, "lru"};
  EXPECT_THAT(SmallestBudget(*engine_.last_step(), options,
                             std::chrono::steady_clock::now()),
              HasCode(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace rekindle::internal
