// SPDX-License-Identifier: Apache-2.0
// Small storages move together when the budget is short.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/fault_injecting_device.h"
#include "tests/engine/engine_fixture.h"

namespace rekindle {
namespace {

constexpr size_t kLimit = 1024;  // bytes of a small block
constexpr size_t kSmall = 50;    // words; 20 of them fill a chunk
constexpr size_t kSlots = 16;

class CompactTest : public EngineTest {
 protected:
  struct Value {
    StorageId id;
    Words words;
  };

  void OpenSmall(size_t chunks) {
    Open(chunks * kGranularity, "dtr_eq:release=lazy", kLimit);
  }

  // Constants until they fill `chunks`; then all but `keep` are dropped, in
  // random order.
  void MakeSparse(size_t chunks, size_t keep) {
    for (uint32_t i = 0; i < chunks * kSlots; ++i) {
      const Words words = MixAll({}, i, kSmall);
      values_.push_back({Constant(words), words});
    }
    std::shuffle(values_.begin(), values_.end(), random_);
    while (values_.size() > keep) {
      engine_->DropReference(values_.back().id);
      values_.pop_back();
    }
    engine_->CheckInvariants();
  }

  void ExpectValues() {
    for (const Value& value : values_) {
      EXPECT_EQ(Read(value.id, value.words.size()), value.words);
    }
    engine_->CheckInvariants();
  }

  // Most that fit at once into one constant.
  bool Fits(size_t chunks) {
    const auto id =
        engine_->AddConstant(chunks * kGranularity, Kind::kInput, {"large"});
    if (id.ok()) engine_->DropReference(*id);
    engine_->CheckInvariants();
    return id.ok();
  }

  size_t held() const { return allocator_->stats().live_physical_bytes; }

  std::mt19937 random_{1};
  std::vector<Value> values_;
};

TEST_F(CompactTest, ThousandsOfConstantsMakeRoomForALargeOne) {
  OpenSmall(256);
  MakeSparse(256, 256 * kSlots / 8);
  const size_t before = held();
  // Without moves next to nothing is free: see below.
  EXPECT_GT(before, 200 * kGranularity);
  EXPECT_TRUE(Fits(220));
  const EngineStats stats = engine_->stats();
  std::printf("%zu chunks held, %zu after %lld moves\n", before / kGranularity,
              held() / kGranularity, static_cast<long long>(stats.moves));
  EXPECT_LE(held(), 33 * kGranularity);
  EXPECT_GE(stats.compactions, 1);
  EXPECT_EQ(stats.evictions, 0);
  EXPECT_EQ(stats.moves, allocator_->stats().moved_blocks);
  ExpectValues();
}

TEST_F(CompactTest, PinnedOnesStayWhereTheyAreAndInTheWay) {
  OpenSmall(64);
  MakeSparse(64, 64 * kSlots / 8);
  std::vector<DeviceAddress> addresses;
  for (const Value& value : values_) {
    addresses.push_back(engine_->Pin(value.id, {"guard"}).value());
  }
  EXPECT_FALSE(Fits(50)) << "nothing may move";
  EXPECT_EQ(engine_->stats().moves, 0);
  for (size_t i = 8; i < values_.size(); ++i) engine_->Unpin(values_[i].id);
  EXPECT_TRUE(Fits(50));
  EXPECT_GT(engine_->stats().moves, 0);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(engine_->Pin(values_[i].id, {"again"}).value(), addresses[i]);
    const auto* data = reinterpret_cast<const uint32_t*>(addresses[i]);
    EXPECT_EQ(Words(data, data + kSmall), values_[i].words);
    engine_->Unpin(values_[i].id);
    engine_->Unpin(values_[i].id);
  }
  ExpectValues();
}

TEST_F(CompactTest, InputsOfTheRunningCallStay) {
  OpenSmall(16);
  MakeSparse(16, 32);
  StorageIds inputs;
  std::vector<Words> words;
  for (size_t i = 0; i < 4; ++i) {
    inputs.push_back(values_[i].id);
    words.push_back(values_[i].words);
  }
  const size_t large = 10 * kGranularity / 4;
  const auto result =
      engine_->Run(MixCall(inputs, std::vector<size_t>(4, kSmall), {large}, 3));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_GT(engine_->stats().moves, 0);
  EXPECT_EQ(Read(result->outputs[0], large), MixAll(words, 3, large));
  ExpectValues();
}

TEST_F(CompactTest, ALowerBudgetMovesBeforeItEvicts) {
  OpenSmall(64);
  MakeSparse(32, 40);
  const StorageId value = Next(values_[0].id, kSmall);
  ASSERT_TRUE(engine_->SetBudget(8 * kGranularity).ok());
  EXPECT_LE(held(), 8 * kGranularity);
  EXPECT_TRUE(engine_->IsResident(value));
  EXPECT_EQ(engine_->stats().evictions, 0);
  ExpectValues();
}

TEST_F(CompactTest, AFailedCopyIsTheErrorAndLosesNothing) {
  for (int64_t n = 1; n < 20; ++n) {
    values_.clear();
    Open(kUnlimited);
    engine_.reset();
    FaultInjectingDevice faults(*device_);
    VmmAllocatorOptions options;
    options.budget = 32 * kGranularity;
    options.small_block_limit = kLimit;
    allocator_ = VmmAllocator::Create(faults, options).value();
    engine_ = std::make_unique<Engine>(faults, *allocator_,
                                       MakePolicy("dtr_eq").value());
    MakeSparse(32, 64);
    const absl::Status error = absl::InternalError("broken");
    faults.FailCall(FaultInjectingDevice::Verb::kCopy, n, error);
    const auto id =
        engine_->AddConstant(24 * kGranularity, Kind::kInput, {"large"});
    EXPECT_EQ(id.status(), error);
    ExpectValues();
    EXPECT_TRUE(Fits(24));
    ExpectValues();
    engine_.reset();
    allocator_.reset();
  }
}

TEST_F(CompactTest, ADeviceThatOnlyCountsMovesToo) {
  const auto device =
      CountingDevice::Open({.capacity = kUnlimited, .granularity = 4096})
          .value();
  VmmAllocatorOptions options;
  options.budget = 32 * kGranularity;
  options.small_block_limit = kLimit;
  const auto allocator = VmmAllocator::Create(*device, options).value();
  Engine engine(*device, *allocator, MakePolicy("dtr_eq").value());
  std::vector<StorageId> ids;
  for (size_t i = 0; i < 32 * kSlots; ++i) {
    ids.push_back(engine.AddConstant(200, Kind::kInput, {"small"}).value());
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i % 8 > 0) engine.DropReference(ids[i]);
  }
  EXPECT_TRUE(engine.AddConstant(28 * kGranularity, Kind::kInput, {"x"}).ok());
  EXPECT_EQ(engine.stats().moves, allocator->stats().moved_blocks);
  EXPECT_GT(engine.stats().moves, 0);
  engine.CheckInvariants();
}

}  // namespace
}  // namespace rekindle
