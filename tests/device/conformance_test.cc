// SPDX-License-Identifier: Apache-2.0
// Addresses, chunks and mappings.
#include "tests/device/conformance.h"

#include <algorithm>

#include "tests/base/status_matchers.h"

namespace rekindle {

std::vector<ChunkId> DeviceConformance::CreateMany(size_t count) {
  std::vector<ChunkId> chunks;
  for (size_t i = 0; i < count; ++i) chunks.push_back(Create(1));
  return chunks;
}

DeviceAddress DeviceConformance::Ready(size_t units) {
  const DeviceAddress address = Reserve(units);
  EXPECT_THAT(device_->Map(address, CreateMany(units)), IsOk());
  return address;
}

void DeviceConformance::Fill(DeviceAddress address, size_t bytes,
                             uint8_t value) {
  ASSERT_THAT(device_->Fill(address, value, bytes, Stream()), IsOk());
  ASSERT_THAT(device_->Synchronize(Stream()), IsOk());
}

testing::AssertionResult Holds(Device& device, DeviceAddress address,
                               size_t bytes, uint8_t value) {
  if (!device.holds_bytes()) value = 0;
  std::vector<uint8_t> read(bytes, static_cast<uint8_t>(value + 1));
  const absl::Status status =
      device.CopyToHost(read.data(), address, bytes, Stream());
  if (!status.ok()) return testing::AssertionFailure() << status.ToString();
  for (size_t i = 0; i < bytes; ++i) {
    if (read[i] == value) continue;
    return testing::AssertionFailure()
           << "byte " << i << " is " << int{read[i]} << ", not " << int{value};
  }
  return testing::AssertionSuccess();
}

namespace {

// Addresses. ------------------------------------------------------------------

TEST_P(DeviceConformance, GranularityIsAPowerOfTwo) {
  EXPECT_GT(unit_, 0u);
  EXPECT_EQ(unit_ & (unit_ - 1), 0u);
}

TEST_P(DeviceConformance, ReservationsAreAlignedAndApart) {
  std::vector<DeviceAddress> addresses;
  for (int i = 0; i < 8; ++i) addresses.push_back(Reserve(3));
  std::sort(addresses.begin(), addresses.end());
  for (size_t i = 0; i < addresses.size(); ++i) {
    EXPECT_NE(addresses[i], 0u);
    EXPECT_EQ(addresses[i] % unit_, 0u);
    if (i > 0) {
      EXPECT_GE(addresses[i], addresses[i - 1] + 3 * unit_);
    }
  }
}

TEST_P(DeviceConformance, ReserveTakesNoMemory) {
  Reserve(8);
  EXPECT_EQ(device_->memory_info().created, 0u);
}

TEST_P(DeviceConformance, ReserveRefusesPartsOfAGranule) {
  EXPECT_THAT(device_->Reserve(0), IsInvalidArgument());
  EXPECT_THAT(device_->Reserve(unit_ / 2), IsInvalidArgument());
  EXPECT_THAT(device_->Reserve(unit_ + 1), IsInvalidArgument());
}

TEST_P(DeviceConformance, ReserveOfMoreThanAllAddressesIsExhausted) {
  const size_t all = ~size_t{0} / unit_ * unit_;
  EXPECT_THAT(device_->Reserve(all), IsResourceExhausted());
}

TEST_P(DeviceConformance, ReleaseNeedsExactlyWhatWasReserved) {
  const DeviceAddress address = Reserve(4);
  EXPECT_THAT(device_->Release(address, 2 * unit_), IsInvalidArgument());
  EXPECT_THAT(device_->Release(address + unit_, 3 * unit_),
              IsInvalidArgument());
  EXPECT_THAT(device_->Release(address, 4 * unit_), IsOk());
  EXPECT_THAT(device_->Release(address, 4 * unit_), IsInvalidArgument());
}

TEST_P(DeviceConformance, ReleaseRefusesARangeWithMemoryInIt) {
  const DeviceAddress address = Reserve(4);
  const ChunkId chunk = Create(1);
  ASSERT_THAT(device_->Map(address + 2 * unit_, {chunk}), IsOk());
  EXPECT_THAT(device_->Release(address, 4 * unit_), IsFailedPrecondition());
  Fill(address + 2 * unit_, unit_, 7);
  EXPECT_TRUE(Holds(address + 2 * unit_, unit_, 7));
  ASSERT_THAT(device_->Unmap(address + 2 * unit_, unit_), IsOk());
  EXPECT_THAT(device_->Release(address, 4 * unit_), IsOk());
}

TEST_P(DeviceConformance, NothingCanBeMappedInAReleasedRange) {
  const DeviceAddress address = Reserve(1);
  ASSERT_THAT(device_->Release(address, unit_), IsOk());
  EXPECT_THAT(device_->Map(address, {Create(1)}), IsInvalidArgument());
}

// Chunks. ---------------------------------------------------------------------

TEST_P(DeviceConformance, MemoryInfoCountsChunks) {
  EXPECT_EQ(device_->memory_info().created, 0u);
  EXPECT_EQ(device_->memory_info().peak_created, 0u);
  const ChunkId one = Create(1);
  const ChunkId two = Create(2);
  EXPECT_EQ(device_->memory_info().created, 3 * unit_);
  ASSERT_THAT(device_->Destroy(one), IsOk());
  EXPECT_EQ(device_->memory_info().created, 2 * unit_);
  ASSERT_THAT(device_->Destroy(two), IsOk());
  EXPECT_EQ(device_->memory_info().created, 0u);
  EXPECT_EQ(device_->memory_info().peak_created, 3 * unit_);
}

TEST_P(DeviceConformance, CreateRefusesPartsOfAGranule) {
  EXPECT_THAT(device_->Create(0), IsInvalidArgument());
  EXPECT_THAT(device_->Create(unit_ / 2), IsInvalidArgument());
  EXPECT_THAT(device_->Create(unit_ + 1), IsInvalidArgument());
  EXPECT_EQ(device_->memory_info().created, 0u);
}

TEST_P(DeviceConformance, CreateEndsAtTheCapacity) {
  const size_t capacity = GetParam().capacity;
  if (capacity == 0) GTEST_SKIP() << "the capacity of this device is open";
  EXPECT_EQ(device_->memory_info().total, capacity);
  EXPECT_EQ(device_->memory_info().free, capacity);
  EXPECT_THAT(device_->Create(capacity + unit_), IsResourceExhausted());
  const ChunkId most = device_->Create(capacity - unit_).value();
  EXPECT_THAT(device_->Create(2 * unit_), IsResourceExhausted());
  EXPECT_EQ(device_->memory_info().created, capacity - unit_);
  EXPECT_EQ(device_->memory_info().free, unit_);
  Create(1);
  EXPECT_THAT(device_->Create(unit_), IsResourceExhausted());
  ASSERT_THAT(device_->Destroy(most), IsOk());
  EXPECT_THAT(device_->Create(unit_), IsOk());
  EXPECT_EQ(device_->memory_info().peak_created, capacity);
}

TEST_P(DeviceConformance, CountersCountWhatWasDone) {
  const DeviceAddress address = Reserve(2);
  const std::vector<ChunkId> chunks = CreateMany(2);
  EXPECT_THAT(device_->Create(unit_ + 1), IsInvalidArgument());
  ASSERT_THAT(device_->Map(address, chunks), IsOk());
  EXPECT_THAT(device_->Map(address, chunks), IsFailedPrecondition());
  EXPECT_THAT(device_->Destroy(chunks[0]), IsFailedPrecondition());
  ASSERT_THAT(device_->Unmap(address, 2 * unit_), IsOk());
  EXPECT_THAT(device_->Unmap(address, 2 * unit_), IsFailedPrecondition());
  ASSERT_THAT(device_->Destroy(chunks[0]), IsOk());
  const DeviceCounters counters = device_->counters();
  EXPECT_EQ(counters.create, 2);
  EXPECT_EQ(counters.map, 1);
  EXPECT_EQ(counters.unmap, 1);
  EXPECT_EQ(counters.destroy, 1);
}

TEST_P(DeviceConformance, DestroyRefusesUnknownChunks) {
  const ChunkId chunk = Create(1);
  EXPECT_THAT(device_->Destroy(ChunkId()), IsInvalidArgument());
  EXPECT_THAT(device_->Destroy(ChunkId(chunk.value() + 1)),
              IsInvalidArgument());
  ASSERT_THAT(device_->Destroy(chunk), IsOk());
  EXPECT_THAT(device_->Destroy(chunk), IsInvalidArgument());
  EXPECT_EQ(device_->memory_info().created, 0u);
}

TEST_P(DeviceConformance, DestroyRefusesMappedChunks) {
  const DeviceAddress address = Reserve(1);
  const ChunkId chunk = Create(1);
  ASSERT_THAT(device_->Map(address, {chunk}), IsOk());
  EXPECT_THAT(device_->Destroy(chunk), IsFailedPrecondition());
  EXPECT_EQ(device_->memory_info().created, unit_);
  Fill(address, unit_, 3);
  EXPECT_TRUE(Holds(address, unit_, 3));
  ASSERT_THAT(device_->Unmap(address, unit_), IsOk());
  EXPECT_THAT(device_->Destroy(chunk), IsOk());
}

// Mappings. -------------------------------------------------------------------

TEST_P(DeviceConformance, MapPutsChunksOneAfterAnother) {
  const DeviceAddress address = Reserve(4);
  const ChunkId one = Create(1);
  const ChunkId two = Create(2);
  ASSERT_THAT(device_->Map(address, {two, one}), IsOk());
  EXPECT_EQ(device_->counters().map, 1);
  Fill(address, unit_, 1);
  Fill(address + unit_, unit_, 2);
  Fill(address + 2 * unit_, unit_, 3);
  ASSERT_THAT(device_->Unmap(address, 3 * unit_), IsOk());
  EXPECT_EQ(device_->counters().unmap, 1);
  ASSERT_THAT(device_->Map(address + unit_, {one, two}), IsOk());
  EXPECT_TRUE(Holds(address + unit_, unit_, 3));
  EXPECT_TRUE(Holds(address + 2 * unit_, unit_, 1));
  EXPECT_TRUE(Holds(address + 3 * unit_, unit_, 2));
}

TEST_P(DeviceConformance, ChunksOutOfOrderKeepTheirOwnBytes) {
  const DeviceAddress address = Reserve(8);
  std::vector<ChunkId> chunks = CreateMany(8);
  std::swap(chunks[1], chunks[6]);
  std::swap(chunks[2], chunks[3]);
  ASSERT_THAT(device_->Map(address, chunks), IsOk());
  for (size_t i = 0; i < 8; ++i) {
    Fill(address + i * unit_, unit_, static_cast<uint8_t>(i + 1));
  }
  ASSERT_THAT(device_->Unmap(address, 8 * unit_), IsOk());
  std::reverse(chunks.begin(), chunks.end());
  ASSERT_THAT(device_->Map(address, chunks), IsOk());
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(Holds(address + i * unit_, unit_, static_cast<uint8_t>(8 - i)));
  }
}

TEST_P(DeviceConformance, MapRefusesUnknownChunks) {
  const DeviceAddress address = Reserve(2);
  const ChunkId chunk = Create(1);
  EXPECT_THAT(device_->Map(address, {}), IsInvalidArgument());
  EXPECT_THAT(device_->Map(address, {chunk, ChunkId()}), IsInvalidArgument());
  EXPECT_THAT(device_->Map(address, {chunk, ChunkId(chunk.value() + 9)}),
              IsInvalidArgument());
  EXPECT_THAT(device_->Map(address, {chunk}), IsOk());
}

TEST_P(DeviceConformance, MapRefusesMisalignedAddresses) {
  const DeviceAddress address = Reserve(4);
  const ChunkId chunk = Create(1);
  EXPECT_THAT(device_->Map(address + unit_ / 2, {chunk}), IsInvalidArgument());
  EXPECT_THAT(device_->Map(address + 1, {chunk}), IsInvalidArgument());
  EXPECT_THAT(device_->Map(address, {chunk}), IsOk());
}

TEST_P(DeviceConformance, MapRefusesAddressesNotReserved) {
  const DeviceAddress address = Reserve(2);
  const ChunkId one = Create(1);
  const ChunkId two = Create(2);
  EXPECT_THAT(device_->Map(address + unit_, {two}), IsInvalidArgument());
  EXPECT_THAT(device_->Map(address + 2 * unit_, {one}), IsInvalidArgument());
  EXPECT_THAT(device_->Map(0, {one}), IsInvalidArgument());
  EXPECT_THAT(device_->Map(address, {two}), IsOk());
}

TEST_P(DeviceConformance, MapRefusesMappedAddressesAndKeepsWhatIsThere) {
  const DeviceAddress address = Reserve(4);
  const ChunkId first = Create(1);
  const ChunkId second = Create(2);
  ASSERT_THAT(device_->Map(address + unit_, {first}), IsOk());
  Fill(address + unit_, unit_, 5);
  EXPECT_THAT(device_->Map(address, {second}), IsFailedPrecondition());
  EXPECT_THAT(device_->Map(address + unit_, {second}), IsFailedPrecondition());
  EXPECT_TRUE(Holds(address + unit_, unit_, 5));
  EXPECT_EQ(device_->counters().map, 1);
  EXPECT_THAT(device_->Map(address + 2 * unit_, {second}), IsOk());
}

TEST_P(DeviceConformance, AChunkHasOneAddress) {
  const DeviceAddress address = Reserve(4);
  const ChunkId chunk = Create(1);
  const ChunkId other = Create(1);
  EXPECT_THAT(device_->Map(address, {other, chunk, other}),
              IsFailedPrecondition());
  ASSERT_THAT(device_->Map(address, {chunk}), IsOk());
  EXPECT_THAT(device_->Map(address + unit_, {other, chunk}),
              IsFailedPrecondition());
  EXPECT_THAT(device_->Map(address + unit_, {other}), IsOk());
}

TEST_P(DeviceConformance, BytesSurviveAMoveToOtherAddresses) {
  const DeviceAddress here = Reserve(2);
  const DeviceAddress there = Reserve(2);
  const std::vector<ChunkId> chunks = CreateMany(2);
  ASSERT_THAT(device_->Map(here, chunks), IsOk());
  Fill(here, unit_, 0x11);
  Fill(here + unit_, unit_, 0x22);
  ASSERT_THAT(device_->Unmap(here, 2 * unit_), IsOk());
  ASSERT_THAT(device_->Map(there + unit_, {chunks[0]}), IsOk());
  ASSERT_THAT(device_->Map(there, {chunks[1]}), IsOk());
  EXPECT_TRUE(Holds(there, unit_, 0x22));
  EXPECT_TRUE(Holds(there + unit_, unit_, 0x11));
}

TEST_P(DeviceConformance, UnmapTakesAnyRunOfWholeChunks) {
  const DeviceAddress address = Reserve(8);
  ASSERT_THAT(device_->Map(address, CreateMany(4)), IsOk());
  ASSERT_THAT(device_->Map(address + 4 * unit_, {Create(2)}), IsOk());
  Fill(address, 6 * unit_, 9);
  EXPECT_THAT(device_->Unmap(address + unit_, 5 * unit_), IsOk());
  EXPECT_TRUE(Holds(address, unit_, 9));
  EXPECT_EQ(device_->memory_info().created, 6 * unit_);
}

TEST_P(DeviceConformance, UnmapRefusesWhatIsNotMapped) {
  const DeviceAddress address = Reserve(4);
  EXPECT_THAT(device_->Unmap(address, unit_), IsFailedPrecondition());
  ASSERT_THAT(device_->Map(address + unit_, {Create(1)}), IsOk());
  EXPECT_THAT(device_->Unmap(address, 2 * unit_), IsFailedPrecondition());
  EXPECT_THAT(device_->Unmap(address + unit_, 2 * unit_),
              IsFailedPrecondition());
  Fill(address + unit_, unit_, 4);
  EXPECT_TRUE(Holds(address + unit_, unit_, 4));
  ASSERT_THAT(device_->Unmap(address + unit_, unit_), IsOk());
  EXPECT_THAT(device_->Unmap(address + unit_, unit_), IsFailedPrecondition());
}

TEST_P(DeviceConformance, UnmapRefusesPartsOfAChunk) {
  const DeviceAddress address = Reserve(4);
  ASSERT_THAT(device_->Map(address, {Create(3), Create(1)}), IsOk());
  EXPECT_THAT(device_->Unmap(address, 0), IsInvalidArgument());
  EXPECT_THAT(device_->Unmap(address, unit_), IsInvalidArgument());
  EXPECT_THAT(device_->Unmap(address + unit_, 3 * unit_), IsInvalidArgument());
  EXPECT_THAT(device_->Unmap(address, unit_ / 2), IsInvalidArgument());
  EXPECT_THAT(device_->Unmap(address + unit_ / 2, unit_), IsInvalidArgument());
  Fill(address, 4 * unit_, 8);
  EXPECT_TRUE(Holds(address, 4 * unit_, 8));
  EXPECT_THAT(device_->Unmap(address, 4 * unit_), IsOk());
}

TEST_P(DeviceConformance, UnmapRefusesAddressesNotReserved) {
  const DeviceAddress address = Reserve(1);
  ASSERT_THAT(device_->Map(address, {Create(1)}), IsOk());
  EXPECT_THAT(device_->Unmap(address, 2 * unit_), IsInvalidArgument());
  EXPECT_THAT(device_->Unmap(address, unit_), IsOk());
}

TEST_P(DeviceConformance, AFreedRangeTakesOtherChunks) {
  const DeviceAddress address = Reserve(1);
  const std::vector<ChunkId> chunks = CreateMany(2);
  ASSERT_THAT(device_->Map(address, {chunks[0]}), IsOk());
  Fill(address, unit_, 1);
  ASSERT_THAT(device_->Unmap(address, unit_), IsOk());
  ASSERT_THAT(device_->Map(address, {chunks[1]}), IsOk());
  Fill(address, unit_, 2);
  ASSERT_THAT(device_->Unmap(address, unit_), IsOk());
  ASSERT_THAT(device_->Map(address, {chunks[0]}), IsOk());
  EXPECT_TRUE(Holds(address, unit_, 1));
}

TEST_P(DeviceConformance, MarkedRangesStayMapped) {
  const DeviceAddress address = Reserve(1);
  ASSERT_THAT(device_->Map(address, {Create(1)}), IsOk());
  device_->MarkFree(address, unit_);
  device_->MarkUsed(address, unit_ / 2);
  Fill(address, unit_ / 2, 6);
  EXPECT_TRUE(Holds(address, unit_ / 2, 6));
  device_->MarkFree(address, unit_ / 2);
  EXPECT_THAT(device_->Unmap(address, unit_), IsOk());
  ASSERT_THAT(device_->Release(address, unit_), IsOk());
}

}  // namespace
}  // namespace rekindle
