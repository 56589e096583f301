// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/engine.h"

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

TEST_F(EngineTest, EvictedStorageIsRecomputedOnRead) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  const Words before = Read(y, kWords);
  ASSERT_TRUE(engine_->Evict(y));
  EXPECT_FALSE(engine_->IsResident(y));
  EXPECT_EQ(Read(y, kWords), before);
  EXPECT_EQ(engine_->stats().recomputations, 1);
  engine_->CheckInvariants();
}

TEST_F(EngineTest, ConstantsAndPinnedStoragesAreNoVictims) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  EXPECT_FALSE(engine_->Evict(x));
  ASSERT_TRUE(engine_->Pin(y, {"test"}).ok());
  EXPECT_FALSE(engine_->Evict(y));
  engine_->Unpin(y);
  EXPECT_TRUE(engine_->Evict(y));
}

TEST_F(EngineTest, CallsBeyondTheBudgetEvict) {
  Open(4 * kGranularity);
  const StorageId x = Constant(Ramp());
  std::vector<StorageId> all;
  for (uint32_t i = 0; i < 10; ++i) {
    all.push_back(Next(x, kWords, i));
    EXPECT_LE(device_->memory_info().created, 4 * kGranularity);
    engine_->CheckInvariants();
  }
  EXPECT_GE(engine_->stats().evictions, 7);
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(Read(all[i], kWords), MixAll({Ramp()}, i, kWords));
  }
  EXPECT_LE(device_->memory_info().peak_created, 4 * kGranularity);
}

TEST_F(EngineTest, ReleasedBytesGoAtOnceIfNobodyNeedsThem) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  const StorageId z = Next(y, kWords);
  engine_->DropReference(y);
  EXPECT_FALSE(engine_->IsResident(y));
  EXPECT_EQ(engine_->stats().releases, 1);
  EXPECT_EQ(engine_->stats().evictions, 0);
  EXPECT_EQ(Read(z, kWords), MixAll({MixAll({Ramp()}, 1, kWords)}, 1, kWords));
}

TEST_F(EngineTest, LazyReleaseKeepsWhatALiveEvictedStorageNeeds) {
  Open(kUnlimited, "dtr_eq:release=lazy");
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  const StorageId z = Next(y, kWords);
  engine_->Evict(z);
  engine_->DropReference(y);
  EXPECT_TRUE(engine_->IsResident(y));
  Read(z, kWords);  // z is back: y has no purpose left
  EXPECT_FALSE(engine_->IsResident(y));
  EXPECT_EQ(engine_->stats().recomputations, 1);
}

TEST_F(EngineTest, EagerReleaseDropsItAllTheSame) {
  Open(kUnlimited, "dtr_eq");
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  const StorageId z = Next(y, kWords);
  engine_->Evict(z);
  engine_->DropReference(y);
  EXPECT_FALSE(engine_->IsResident(y));
  Read(z, kWords);
  EXPECT_EQ(engine_->stats().recomputations, 2);
}

TEST_F(EngineTest, ConstantStaysWhileLineageNeedsIt) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  engine_->DropReference(x);
  engine_->Evict(y);
  EXPECT_EQ(engine_->stats().storages, 2);
  EXPECT_EQ(Read(y, kWords), MixAll({Ramp()}, 1, kWords));
  engine_->DropReference(y);
  EXPECT_EQ(engine_->stats().storages, 0);
  EXPECT_EQ(engine_->stats().lineage_calls, 0);
  EXPECT_EQ(allocator_->stats().live_blocks, 0);
}

TEST_F(EngineTest, RepeatedCallKeepsTheBytesOfResidentOutputs) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const auto outputs =
      engine_->Run(MixCall({x}, {kWords}, {kWords, kWords}, 5)).value().outputs;
  const DeviceAddress kept = engine_->Pin(outputs[0], {"reader"}).value();
  engine_->Evict(outputs[1]);
  EXPECT_EQ(Read(outputs[1], kWords), MixAll({Ramp()}, 6, kWords));
  EXPECT_EQ(engine_->Pin(outputs[0], {"again"}).value(), kept);
  engine_->CheckInvariants();
}

TEST_F(EngineTest, CallThatIsNotPureNeverRunsAgain) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  CallSpec spec = MixCall({x}, {kWords}, {kWords}, 1);
  spec.pure = false;
  const StorageId y = engine_->Run(std::move(spec)).value().outputs[0];
  EXPECT_TRUE(engine_->IsConstant(y));
  EXPECT_FALSE(engine_->Evict(y));
  engine_->DropReference(y);
  engine_->DropReference(x);
  EXPECT_EQ(engine_->stats().storages, 0);
}

TEST_F(EngineTest, CallWithoutOutputsLeavesNoRecord) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  ASSERT_TRUE(engine_->Run(MixCall({x}, {kWords}, {}, 1)).ok());
  EXPECT_EQ(engine_->stats().lineage_calls, 0);
  engine_->CheckInvariants();
}

TEST_F(EngineTest, DetachEndsTheLineage) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  engine_->Evict(y);
  engine_->DropReference(x);
  ASSERT_TRUE(engine_->Detach(y).ok());
  EXPECT_TRUE(engine_->IsConstant(y));
  EXPECT_EQ(engine_->stats().storages, 1);
  EXPECT_EQ(engine_->stats().lineage_calls, 0);
  EXPECT_EQ(Read(y, kWords), MixAll({Ramp()}, 1, kWords));
}

TEST_F(EngineTest, DetachAllKeepsALoopConstant) {
  Open(8 * kGranularity);
  StorageId state = Constant(Ramp());
  Words expected = Ramp();
  for (uint32_t step = 0; step < 50; ++step) {
    ASSERT_TRUE(engine_->DetachAll().ok());
    EXPECT_EQ(engine_->stats().lineage_calls, 0);
    for (uint32_t i = 0; i < 5; ++i) {
      const StorageId next = Next(state, kWords, i);
      expected = MixAll({expected}, i, kWords);
      engine_->DropReference(state);
      state = next;
    }
  }
  EXPECT_EQ(Read(state, kWords), expected);
}

TEST_F(EngineTest, SetBudgetEvictsDownToIt) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  std::vector<StorageId> all;
  for (uint32_t i = 0; i < 8; ++i) all.push_back(Next(x, kWords, i));
  ASSERT_TRUE(engine_->SetBudget(3 * kGranularity).ok());
  EXPECT_LE(device_->memory_info().created, 3 * kGranularity);
  engine_->CheckInvariants();
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(Read(all[i], kWords), MixAll({Ramp()}, i, kWords));
  }
}

TEST_F(EngineTest, ShortfallHasTrueNumbersAndItsBudgetWorks) {
  Open(4 * kGranularity);
  const StorageId a = Constant(Ramp(), "a");
  const StorageId b = Constant(Ramp(), "b");
  ASSERT_TRUE(engine_->Pin(b, {"holder", "eval.cc", 31}).ok());
  CallSpec spec = MixCall({a, b}, {kWords, kWords}, {kWords, 2 * kWords}, 1);
  spec.label = {"wide", "train.cc", 212};
  spec.workspace_bytes = kGranularity;
  const auto result = engine_->Run(std::move(spec));
  ASSERT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  const Shortfall& shortfall = *engine_->last_shortfall();
  EXPECT_EQ(shortfall.label.name(), "wide");
  EXPECT_EQ(shortfall.input_bytes, 2 * kGranularity);
  EXPECT_EQ(shortfall.output_bytes, 3 * kGranularity);
  EXPECT_EQ(shortfall.workspace_bytes, kGranularity);
  EXPECT_EQ(shortfall.held_bytes, 2 * kGranularity);
  EXPECT_EQ(shortfall.pinned_by.line(), 31);
  EXPECT_GE(shortfall.needed_budget, 6 * kGranularity);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("wide"));
  engine_->CheckInvariants();

  ASSERT_TRUE(engine_->SetBudget(shortfall.needed_budget).ok());
  CallSpec again = MixCall({a, b}, {kWords, kWords}, {kWords, 2 * kWords}, 1);
  again.workspace_bytes = kGranularity;
  EXPECT_TRUE(engine_->Run(std::move(again)).ok());
}

TEST_F(EngineTest, ShortfallCountsAnInputThatCanBeMadeAgainOnce) {
  Open(2 * kGranularity);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  ASSERT_FALSE(engine_->Run(MixCall({y}, {kWords}, {kWords}, 2)).ok());
  EXPECT_EQ(engine_->last_shortfall()->held_bytes, kGranularity);
  EXPECT_EQ(engine_->last_shortfall()->needed_budget, 3 * kGranularity);
  ASSERT_TRUE(engine_->SetBudget(3 * kGranularity).ok());
  EXPECT_TRUE(engine_->Run(MixCall({y}, {kWords}, {kWords}, 2)).ok());
}

TEST_F(EngineTest, ExhaustionOfAnExecutorHasNoShortfall) {
  Open(2 * kGranularity);
  const StorageId x = Constant(Ramp());
  CallSpec spec = MixCall({x}, {kWords}, {4 * kWords}, 1);
  EXPECT_TRUE(
      absl::IsResourceExhausted(engine_->Run(std::move(spec)).status()));
  EXPECT_TRUE(engine_->last_shortfall().has_value());
  spec = MixCall({x}, {kWords}, {1}, 1);
  spec.execute = [](const KernelBinding&) {
    return absl::ResourceExhaustedError("handles");
  };
  EXPECT_TRUE(
      absl::IsResourceExhausted(engine_->Run(std::move(spec)).status()));
  EXPECT_FALSE(engine_->last_shortfall().has_value());
}

// It can be tried again.
TEST_F(EngineTest, FailedRunLeavesItsSpecAsItWas) {
  Open(2 * kGranularity);
  const StorageId x = Constant(Ramp());
  CallSpec spec = MixCall({x}, {kWords}, {4 * kWords}, 1);
  EXPECT_FALSE(engine_->Run(std::move(spec)).ok());
  ASSERT_TRUE(
      engine_->SetBudget(engine_->last_shortfall()->needed_budget).ok());
  const absl::StatusOr<CallResult> result = engine_->Run(std::move(spec));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Read(result->outputs[0], 4 * kWords),
            MixAll({Ramp()}, 1, 4 * kWords));
}

TEST_F(EngineTest, ErrorOfAnExecutorChangesNothing) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  CallSpec spec = BumpCall(y, kWords, 7);
  spec.execute = [](const KernelBinding& binding) {
    *reinterpret_cast<uint32_t*>(binding.inputs[0]) = 0;  // half done
    return absl::UnavailableError("no luck");
  };
  EXPECT_EQ(engine_->Run(std::move(spec)).status().message(), "no luck");
  engine_->CheckInvariants();
  EXPECT_EQ(Read(y, kWords), MixAll({Ramp()}, 1, kWords));
}

TEST_F(EngineTest, ExceptionOfAnExecutorBecomesAnError) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  CallSpec spec = MixCall({x}, {kWords}, {kWords}, 1);
  spec.execute = [](const KernelBinding&) -> absl::Status {
    throw std::runtime_error("thrown");
  };
  const auto result = engine_->Run(std::move(spec));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("thrown"));
  engine_->CheckInvariants();
  EXPECT_EQ(engine_->stats().storages, 1);
}

TEST_F(EngineTest, BadCallsAreRefused) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const auto code = [this](CallSpec spec) {
    return engine_->Run(std::move(spec)).status().code();
  };
  CallSpec unknown;
  unknown.inputs = {StorageId(99)};
  EXPECT_EQ(code(std::move(unknown)), absl::StatusCode::kInvalidArgument);
  CallSpec out_of_range;
  out_of_range.inputs = {x};
  out_of_range.mutates = {1};
  EXPECT_EQ(code(std::move(out_of_range)), absl::StatusCode::kInvalidArgument);
  CallSpec twice;
  twice.inputs = {x, x};
  twice.mutates = {0, 1};
  EXPECT_EQ(code(std::move(twice)), absl::StatusCode::kInvalidArgument);
  CallSpec effect_read;
  effect_read.inputs = {x, x};
  effect_read.effects = {0};
  EXPECT_EQ(code(std::move(effect_read)), absl::StatusCode::kInvalidArgument);
}

TEST_F(EngineTest, AdoptedMemoryIsReleasedByItsOwner) {
  Open(2 * kGranularity);
  Words memory = Ramp();
  bool released = false;
  const StorageId x = engine_->AdoptConstant(
      reinterpret_cast<DeviceAddress>(memory.data()), kWords * 4, Kind::kInput,
      {"adopted"}, [&released] { released = true; });
  const StorageId y = Next(x, kWords);
  EXPECT_EQ(Read(y, kWords), MixAll({Ramp()}, 1, kWords));
  engine_->DropReference(x);
  EXPECT_FALSE(released);
  engine_->DropReference(y);
  EXPECT_TRUE(released);
}

TEST_F(EngineTest, StorageOfZeroBytesTakesNothing) {
  Open(2 * kGranularity);
  const StorageId x = Constant({});
  const StorageId y =
      engine_->Run(MixCall({x}, {0}, {0}, 1)).value().outputs[0];
  EXPECT_TRUE(engine_->Pin(y, {"t"}).ok());
  engine_->Unpin(y);
  EXPECT_EQ(device_->memory_info().created, 0u);
  engine_->CheckInvariants();
}

TEST_F(EngineTest, PeakIsReferencedBytesAndWorkspace) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  CallSpec spec = MixCall({x}, {kWords}, {kWords}, 1);
  spec.workspace_bytes = 10000;
  const StorageId y = engine_->Run(std::move(spec)).value().outputs[0];
  EXPECT_EQ(engine_->stats().peak_live_bytes, 2 * kWords * 4 + 10000);
  const StorageId z = Next(y, kWords);
  EXPECT_EQ(engine_->stats().live_bytes, 3 * kWords * 4);
  engine_->DropReference(y);
  EXPECT_EQ(engine_->stats().live_bytes, 2 * kWords * 4);
  engine_->ResetPeak();
  EXPECT_EQ(engine_->stats().peak_live_bytes, 2 * kWords * 4);
  (void)z;
}

TEST_F(EngineTest, MeasuredCostIsTheTimeOfTheFirstRun) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  CallSpec spec = MixCall({x}, {kWords}, {kWords}, 1);
  spec.cost = -1;
  ASSERT_TRUE(engine_->Run(std::move(spec)).ok());
  EXPECT_GT(engine_->stats().call_cost, 0);
}

TEST_F(EngineTest, NamedBudgetIsEnoughAlsoWhereLineageIsCut) {
  Open(8 * kGranularity);
  EngineOptions options;
  options.max_lineage_calls = 8;
  engine_ = std::make_unique<Engine>(*device_, *allocator_,
                                     MakePolicy("dtr_eq").value(), options);
  const StorageId x = Constant(Ramp());
  const auto call = [&](uint32_t salt) {
    const std::vector<size_t> six(6, kWords);
    return engine_->Run(MixCall({x}, {kWords}, six, salt));
  };
  StorageId last;
  for (uint32_t i = 0; i < 8; ++i) last = call(i).value().outputs[0];
  ASSERT_TRUE(engine_->Pin(last, {"guard"}).ok());
  ASSERT_TRUE(call(8).ok());
  // Now not even the values of one call fit, to become constants.
  ASSERT_TRUE(engine_->SetBudget(7 * kGranularity).ok());
  ASSERT_FALSE(call(9).ok());
  ASSERT_TRUE(
      engine_->SetBudget(engine_->last_shortfall()->needed_budget).ok());
  EXPECT_TRUE(call(9).ok());
}

// x -> a -> b -> c ..., under a budget of four storages.
TEST_F(EngineTest, ChainBackwardUnderFourStorages) {
  constexpr size_t kSmall = 1024;
  constexpr int kLength = 60;
  Open(6 * kGranularity);
  std::vector<StorageId> chain = {Constant(Ramp(kSmall))};
  std::vector<Words> expected = {Ramp(kSmall)};
  for (int i = 0; i < kLength; ++i) {
    chain.push_back(Next(chain.back(), kSmall));
    expected.push_back(MixAll({expected.back()}, 1, kSmall));
  }
  for (int i = kLength; i >= 0; --i) {
    const auto at = static_cast<size_t>(i);
    EXPECT_EQ(Read(chain[at], kSmall), expected[at]);
    engine_->DropReference(chain[at]);
    engine_->CheckInvariants();
  }
  EXPECT_LE(device_->memory_info().peak_created, 6 * kGranularity);
}

}  // namespace
}  // namespace rekindle
