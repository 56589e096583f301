// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/chunk_table.h"

#include <memory>

#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/fault_injecting_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using Verb = FaultInjectingDevice::Verb;

constexpr size_t kChunk = 64 * kKiB;

class ChunkTableTest : public testing::Test {
 protected:
  ChunkTableTest() {
    size_t bytes = 8 * kChunk;
    address_ = table_->AddRegion(bytes).value();
  }

  size_t created() const { return inner_->memory_info().created; }

  void CreateSpare(int count) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(table_->Create().value());
  }

  const absl::Status error_ = absl::InternalError("injected");
  const std::unique_ptr<CountingDevice> inner_ =
      CountingDevice::Open({.capacity = 16 * kChunk, .granularity = kChunk})
          .value();
  FaultInjectingDevice device_{*inner_};
  Ledger ledger_{6 * kChunk};
  std::unique_ptr<ChunkTable> table_ =
      std::make_unique<ChunkTable>(device_, ledger_, kChunk);
  DeviceAddress address_ = 0;
};

TEST_F(ChunkTableTest, ChunksGoFromSpareToMappedAndBack) {
  CreateSpare(3);
  EXPECT_EQ(table_->spare(), 3u);
  ASSERT_THAT(table_->Map(address_ + kChunk, 2 * kChunk), IsOk());
  EXPECT_EQ(table_->spare(), 1u);
  EXPECT_EQ(table_->mapped(), 2u);
  EXPECT_FALSE(table_->IsMapped(address_));
  EXPECT_TRUE(table_->IsMapped(address_ + kChunk));
  EXPECT_TRUE(table_->IsMapped(address_ + 3 * kChunk - 1));
  EXPECT_FALSE(table_->IsMapped(address_ + 3 * kChunk));
  ASSERT_THAT(table_->Unmap(address_ + 2 * kChunk, kChunk), IsOk());
  EXPECT_EQ(table_->spare(), 2u);
  EXPECT_EQ(table_->created(), 3u);
  ASSERT_THAT(table_->Destroy(), IsOk());
  EXPECT_EQ(table_->created(), 2u);
  EXPECT_EQ(created(), 2 * kChunk);
  table_->CheckInvariants();
}

TEST_F(ChunkTableTest, ARangeIsOneDeviceCall) {
  CreateSpare(4);
  const int64_t before = table_->vmm_calls();
  ASSERT_THAT(table_->Map(address_, 4 * kChunk), IsOk());
  ASSERT_THAT(table_->Unmap(address_, 4 * kChunk), IsOk());
  EXPECT_EQ(table_->vmm_calls(), before + 2);
  EXPECT_EQ(device_.calls(Verb::kMap), 1);
  EXPECT_EQ(device_.calls(Verb::kUnmap), 1);
}

TEST_F(ChunkTableTest, NoChunkIsCreatedAboveTheBudget) {
  CreateSpare(6);
  EXPECT_FALSE(table_->Create().value());
  EXPECT_EQ(device_.calls(Verb::kCreate), 6);
  EXPECT_EQ(created(), 6 * kChunk);
}

TEST_F(ChunkTableTest, ARefusalOfTheDeviceIsNoError) {
  device_.FailCall(Verb::kCreate, 1, absl::ResourceExhaustedError("taken"));
  EXPECT_FALSE(table_->Create().value());
  EXPECT_EQ(ledger_.used(), 0u);
  EXPECT_TRUE(table_->Create().value());
  table_->CheckInvariants();
}

TEST_F(ChunkTableTest, VerbsThatFailChangeNothing) {
  CreateSpare(3);
  ASSERT_THAT(table_->Map(address_, kChunk), IsOk());
  device_.FailCall(Verb::kAny, 1, error_, 4);
  EXPECT_EQ(table_->Create().status(), error_);
  EXPECT_EQ(table_->Map(address_ + kChunk, kChunk), error_);
  EXPECT_EQ(table_->Unmap(address_, kChunk), error_);
  EXPECT_EQ(table_->Destroy(), error_);
  EXPECT_EQ(table_->spare(), 2u);
  EXPECT_EQ(table_->mapped(), 1u);
  EXPECT_TRUE(table_->IsMapped(address_));
  EXPECT_FALSE(table_->IsMapped(address_ + kChunk));
  EXPECT_EQ(ledger_.used(), 3 * kChunk);
  table_->CheckInvariants();
}

TEST_F(ChunkTableTest, RegionsAreAlignedToChunksAndApart) {
  table_ = std::make_unique<ChunkTable>(device_, ledger_, 3 * kChunk);
  DeviceAddress end = 0;
  for (int i = 0; i < 5; ++i) {
    size_t bytes = kChunk;
    const DeviceAddress address = table_->AddRegion(bytes).value();
    EXPECT_EQ(bytes, 3 * kChunk);
    EXPECT_EQ(address % (3 * kChunk), 0u);
    EXPECT_GT(address, end);
    end = address + bytes;
  }
}

TEST_F(ChunkTableTest, ARegionLargerThanAllAddressesIsExhausted) {
  size_t bytes = ~size_t{0} - 1;
  EXPECT_THAT(table_->AddRegion(bytes), IsResourceExhausted());
}

TEST_F(ChunkTableTest, ItsEndGivesEverythingBack) {
  CreateSpare(5);
  ASSERT_THAT(table_->Map(address_, 2 * kChunk), IsOk());
  ASSERT_THAT(table_->Map(address_ + 4 * kChunk, kChunk), IsOk());
  table_.reset();
  EXPECT_EQ(created(), 0u);
  EXPECT_EQ(inner_->counters().destroy, 5);
  EXPECT_EQ(device_.calls(Verb::kRelease), 1);
}

}  // namespace
}  // namespace rekindle
