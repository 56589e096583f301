// SPDX-License-Identifier: Apache-2.0
// Updates in place, and effects.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"

namespace rekindle {
namespace {

using UpdateTest = EngineTest;

TEST_F(UpdateTest, UpdateOfAConstantGivesAConstantInTheSameBytes) {
  Open(kUnlimited);
  const StorageId w = Constant(Ramp());
  const DeviceAddress before = engine_->Pin(w, {"t"}).value();
  engine_->Unpin(w);
  const StorageId updated = Bump(w, kWords);
  EXPECT_TRUE(engine_->IsConstant(updated));
  EXPECT_EQ(engine_->Pin(updated, {"t"}).value(), before);
  EXPECT_EQ(Read(updated, kWords), Bumped(Ramp(), 7));
  EXPECT_EQ(engine_->stats().storages, 1);
  EXPECT_EQ(engine_->stats().lineage_calls, 0);
}

TEST_F(UpdateTest, UpdateMaterializesAndDetachesEvictedReaders) {
  Open(kUnlimited);
  const StorageId w = Constant(Ramp());
  const StorageId y = Next(w, kWords);
  const StorageId z = Next(y, kWords);
  engine_->DropReference(y);
  engine_->Evict(z);
  const StorageId updated = Bump(w, kWords);
  EXPECT_TRUE(engine_->IsConstant(z));
  EXPECT_EQ(engine_->stats().storages, 2);
  EXPECT_EQ(Read(z, kWords), MixAll({MixAll({Ramp()}, 1, kWords)}, 1, kWords));
  EXPECT_EQ(Read(updated, kWords), Bumped(Ramp(), 7));
  engine_->CheckInvariants();
}

TEST_F(UpdateTest, UpdateKeepsTheOldBytesIfReadersDoNotFit) {
  // Six readers of one chunk each cannot all be made constants in five chunks.
  Open(5 * kGranularity);
  const StorageId w = Constant(Ramp());
  std::vector<StorageId> readers;
  for (uint32_t i = 0; i < 6; ++i) readers.push_back(Next(w, kWords, i));
  const StorageId updated = Bump(w, kWords);
  engine_->CheckInvariants();
  EXPECT_EQ(Read(updated, kWords), Bumped(Ramp(), 7));
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(Read(readers[i], kWords), MixAll({Ramp()}, i, kWords));
  }
}

TEST_F(UpdateTest, UpdateThatDoesNotFitFailsBeforeItRuns) {
  Open(2 * kGranularity);
  const StorageId w = Constant(Ramp());
  const StorageId y = Next(w, kWords);
  const StorageId z = Next(w, kWords, 2);
  ASSERT_TRUE(engine_->Pin(y, {"guard"}).ok());
  bool ran = false;
  CallSpec spec = BumpCall(w, kWords, 7);
  spec.execute = [&ran](const KernelBinding&) {
    ran = true;
    return absl::OkStatus();
  };
  const auto result = engine_->Run(std::move(spec));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(ran);
  engine_->CheckInvariants();
  EXPECT_EQ(Read(w, kWords), Ramp());
  EXPECT_EQ(Read(y, kWords), MixAll({Ramp()}, 1, kWords));
  engine_->Unpin(y);
  EXPECT_EQ(Read(z, kWords), MixAll({Ramp()}, 2, kWords));
  ASSERT_TRUE(engine_->Pin(y, {"guard"}).ok());

  ASSERT_TRUE(
      engine_->SetBudget(engine_->last_shortfall()->needed_budget).ok());
  EXPECT_EQ(Read(Bump(w, kWords), kWords), Bumped(Ramp(), 7));
}

TEST_F(UpdateTest, UpdateOfAValueKeepsItsLineage) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  StorageId y = Next(x, kWords);
  for (uint32_t i = 0; i < 5; ++i) y = Bump(y, kWords, i);
  Words expected = MixAll({Ramp()}, 1, kWords);
  for (uint32_t i = 0; i < 5; ++i) expected = Bumped(expected, i);
  EXPECT_FALSE(engine_->IsConstant(y));
  EXPECT_EQ(allocator_->stats().live_blocks, 2);
  EXPECT_EQ(Read(y, kWords), expected);
  engine_->Evict(y);
  EXPECT_EQ(Read(y, kWords), expected);
  EXPECT_EQ(engine_->stats().recomputations, 6);
  engine_->CheckInvariants();
}

// Activations in place, each version read by a call whose result is needed
// later, as a backward pass does.
TEST_F(UpdateTest, ReadersOfEveryVersionOfAChainCanBeMadeAgain) {
  Open(6 * kGranularity);
  StorageId y = Next(Constant(Ramp()), kWords);
  Words value = MixAll({Ramp()}, 1, kWords);
  std::vector<StorageId> readers;
  std::vector<Words> expected;
  for (uint32_t i = 0; i < 12; ++i) {
    readers.push_back(Next(y, kWords, i));
    expected.push_back(MixAll({value}, i, kWords));
    y = Bump(y, kWords, i);
    value = Bumped(value, i);
  }
  for (size_t i = readers.size(); i-- > 0;) {
    EXPECT_EQ(Read(readers[i], kWords), expected[i]);
    engine_->DropReference(readers[i]);
    engine_->CheckInvariants();
  }
  EXPECT_EQ(Read(y, kWords), value);
  EXPECT_GT(engine_->stats().recomputations, 12);
  EXPECT_LE(device_->memory_info().peak_created, 6 * kGranularity);
}

TEST_F(UpdateTest, RepeatedUpdateCopiesADetachedOldValue) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  engine_->AddReference(y);  // a snapshot
  const StorageId updated = Bump(y, kWords);
  ASSERT_TRUE(engine_->Detach(y).ok());
  engine_->DropReference(y);
  for (int i = 0; i < 2; ++i) {
    engine_->Evict(updated);
    EXPECT_EQ(Read(updated, kWords), Bumped(MixAll({Ramp()}, 1, kWords), 7));
    engine_->CheckInvariants();
  }
}

TEST_F(UpdateTest, OldValueStaysReadableForOtherReferences) {
  Open(kUnlimited);
  const StorageId x = Constant(Ramp());
  const StorageId y = Next(x, kWords);
  engine_->AddReference(y);  // a snapshot
  const StorageId updated = Bump(y, kWords);
  EXPECT_EQ(Read(y, kWords), MixAll({Ramp()}, 1, kWords));
  EXPECT_EQ(Read(updated, kWords), Bumped(MixAll({Ramp()}, 1, kWords), 7));
  engine_->AddReference(x);
  const StorageId x2 = Bump(x, kWords);
  EXPECT_EQ(Read(x, kWords), Ramp());
  EXPECT_EQ(Read(x2, kWords), Bumped(Ramp(), 7));
  engine_->CheckInvariants();
}

TEST_F(UpdateTest, PinnedReaderKeepsTheOldBytesDuringAnUpdate) {
  Open(kUnlimited);
  const StorageId w = Constant(Ramp());
  const DeviceAddress address = engine_->Pin(w, {"reader"}).value();
  engine_->AddReference(w);
  const StorageId updated = Bump(w, kWords);
  EXPECT_EQ(*reinterpret_cast<uint32_t*>(address), 1u);
  EXPECT_EQ(Read(updated, kWords), Bumped(Ramp(), 7));
  engine_->Unpin(w);
  engine_->DropReference(w);
  engine_->CheckInvariants();
}

CallSpec CountingCall(StorageId x, StorageId counter, int* first_runs) {
  // Adds one to the counter, and writes output = Mix of x.
  CallSpec spec = {};
  spec.label = {"counting"};
  spec.inputs = {x, counter};
  spec.effects = {1};
  spec.output_bytes = {kWords * 4};
  spec.cost = 1;
  spec.execute = [first_runs](const KernelBinding& binding) {
    ++*first_runs;
    const auto* in = reinterpret_cast<const uint32_t*>(binding.inputs[0]);
    ++*reinterpret_cast<uint32_t*>(binding.inputs[1]);
    const Words out = MixAll({Words(in, in + kWords)}, 3, kWords);
    std::copy(out.begin(), out.end(),
              reinterpret_cast<uint32_t*>(binding.outputs[0]));
    return absl::OkStatus();
  };
  return spec;
}

TEST_F(UpdateTest, EffectsHappenOnce) {
  Open(kUnlimited);
  int runs = 0;
  const StorageId x = Constant(Ramp());
  StorageId counter = Constant(Words(16, 10));
  const CallResult result =
      engine_->Run(CountingCall(x, counter, &runs)).value();
  counter = result.updated[0];
  for (int i = 0; i < 3; ++i) {
    engine_->Evict(result.outputs[0]);
    EXPECT_EQ(Read(result.outputs[0], kWords), MixAll({Ramp()}, 3, kWords));
  }
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(Read(counter, 16)[0], 11u);
  EXPECT_TRUE(engine_->IsConstant(counter));
  EXPECT_FALSE(engine_->IsConstant(result.outputs[0]));
  engine_->CheckInvariants();
}

// Statistics of a layer that runs in every step of a deep network.
TEST_F(UpdateTest, EffectsHappenOnceACallHoweverOftenItIsRepeated) {
  Open(8 * kGranularity);
  int runs = 0;
  StorageId counter = Constant(Words(16, 0));
  std::vector<StorageId> chain = {Constant(Ramp())};
  constexpr int kLayers = 20;
  for (int i = 0; i < kLayers; ++i) {
    const CallResult result =
        engine_->Run(CountingCall(chain.back(), counter, &runs)).value();
    chain.push_back(result.outputs[0]);
    counter = result.updated[0];
  }
  while (chain.size() > 1) {
    Read(chain.back(), kWords);
    engine_->DropReference(chain.back());
    chain.pop_back();
  }
  EXPECT_GT(runs, kLayers);
  EXPECT_EQ(Read(counter, 16)[0], static_cast<uint32_t>(kLayers));
}

TEST_F(UpdateTest, WriteMovesAConstantOn) {
  Open(kUnlimited);
  const StorageId w = Constant(Ramp());
  const StorageId y = Next(w, kWords);
  engine_->Evict(y);
  const Engine::Writable writable = engine_->PinForWrite(w, {"test"}).value();
  *reinterpret_cast<uint32_t*>(writable.address) = 99;
  engine_->Unpin(writable.storage);
  EXPECT_EQ(Read(writable.storage, kWords)[0], 99u);
  EXPECT_EQ(Read(y, kWords), MixAll({Ramp()}, 1, kWords));
  const auto refused = engine_->PinForWrite(Next(y, kWords), {"test"});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace rekindle
