// SPDX-License-Identifier: Apache-2.0
// Each rule of virtual memory management, broken once.
#include "tests/device/cuda/fake_memory.h"

#include <cstring>

#include "tests/device/cuda/fake_api_test.h"

namespace rekindle::cuda {
namespace {

using FakeMemoryTest = FakeApiTest;

// Volatile: the compiler does not know that two addresses can be one byte.
volatile uint8_t* Bytes(DevicePointer address) {
  return reinterpret_cast<volatile uint8_t*>(address);  // NOLINT
}

TEST_F(FakeMemoryTest, ReserveTakesWholeGranules) {
  DevicePointer address = 0;
  ExpectBreach(api_.cuMemAddressReserve(&address, kUnit / 2, 0, 0, 0),
               "reserve-misaligned");
  ExpectBreach(api_.cuMemAddressReserve(&address, 0, 0, 0, 0),
               "reserve-misaligned");
  ExpectBreach(api_.cuMemAddressReserve(&address, kUnit, 3 * kUnit, 0, 0),
               "reserve-misaligned");
  ExpectBreach(api_.cuMemAddressReserve(&address, kUnit, kUnit, 0, 1),
               "reserve-flags");
}

TEST_F(FakeMemoryTest, ReserveAligns) {
  DevicePointer address = 0;
  ASSERT_EQ(api_.cuMemAddressReserve(&address, kUnit, 2 * kMiB, 0, 0),
            Result::kSuccess);
  EXPECT_EQ(address % (2 * kMiB), 0u);
}

TEST_F(FakeMemoryTest, FreeTakesExactlyWhatWasReserved) {
  const DevicePointer address = Reserve(4);
  ExpectBreach(api_.cuMemAddressFree(address, kUnit), "free-not-exact");
  ExpectBreach(api_.cuMemAddressFree(address + kUnit, 3 * kUnit),
               "free-not-exact");
  EXPECT_EQ(api_.cuMemAddressFree(address, 4 * kUnit), Result::kSuccess);
  ExpectBreach(api_.cuMemAddressFree(address, 4 * kUnit), "free-not-exact");
}

TEST_F(FakeMemoryTest, FreeRefusesMappedRanges) {
  const DevicePointer address = Reserve(2);
  ASSERT_EQ(Map(address + kUnit, Create(1), 1), Result::kSuccess);
  ExpectBreach(api_.cuMemAddressFree(address, 2 * kUnit), "free-while-mapped");
}

TEST_F(FakeMemoryTest, CreateTakesWholeGranulesOfTheDevicesOwnMemory) {
  AllocationHandle handle = 0;
  AllocationProperties properties = DeviceMemory(0);
  ExpectBreach(api_.cuMemCreate(&handle, kUnit + 1, &properties, 0),
               "create-misaligned");
  ExpectBreach(api_.cuMemCreate(&handle, 0, &properties, 0),
               "create-misaligned");
  ExpectBreach(api_.cuMemCreate(&handle, kUnit, &properties, 1),
               "create-flags");
  properties.location.id = 7;
  ExpectBreach(api_.cuMemCreate(&handle, kUnit, &properties, 0),
               "create-properties");
  properties = AllocationProperties();
  ExpectBreach(api_.cuMemCreate(&handle, kUnit, &properties, 0),
               "create-properties");
  size_t granularity = 0;
  ExpectBreach(api_.cuMemGetAllocationGranularity(&granularity, &properties,
                                                  Granularity::kMinimum),
               "create-properties");
}

TEST_F(FakeMemoryTest, MemoryEnds) {
  AllocationHandle handle = 0;
  const AllocationProperties properties = DeviceMemory(0);
  const AllocationHandle most = Create(15);
  EXPECT_EQ(api_.cuMemCreate(&handle, 2 * kUnit, &properties, 0),
            Result::kOutOfMemory);
  EXPECT_EQ(driver_.free_memory(), kUnit);
  EXPECT_EQ(api_.cuMemRelease(most), Result::kSuccess);
  EXPECT_EQ(driver_.free_memory(), 16 * kUnit);
}

TEST_F(FakeMemoryTest, ReleaseTakesEachHandleOnce) {
  const AllocationHandle handle = Create(1);
  EXPECT_EQ(api_.cuMemRelease(handle), Result::kSuccess);
  ExpectBreach(api_.cuMemRelease(handle), "double-release");
  ExpectBreach(api_.cuMemRelease(handle + 100), "unknown-handle");
  ExpectBreach(api_.cuMemRelease(0), "unknown-handle");
}

TEST_F(FakeMemoryTest, ReleasedMemoryIsTakenUntilItIsUnmapped) {
  const DevicePointer address = Reserve(1);
  const AllocationHandle handle = Create(1);
  ASSERT_EQ(Map(address, handle, 1), Result::kSuccess);
  EXPECT_EQ(api_.cuMemRelease(handle), Result::kSuccess);
  EXPECT_EQ(driver_.free_memory(), 15 * kUnit);
  ExpectBreach(api_.cuMemRelease(handle), "double-release");
  ExpectBreach(Map(address, handle, 1), "unknown-handle");
  EXPECT_EQ(api_.cuMemUnmap(address, kUnit), Result::kSuccess);
  EXPECT_EQ(driver_.free_memory(), 16 * kUnit);
}

TEST_F(FakeMemoryTest, MapTakesAWholeHandleAtAnAlignedAddress) {
  const DevicePointer address = Reserve(4);
  const AllocationHandle handle = Create(2);
  ExpectBreach(api_.cuMemMap(address, kUnit, kUnit, handle, 0), "map-offset");
  ExpectBreach(api_.cuMemMap(address, 2 * kUnit, 0, handle, 1), "map-flags");
  ExpectBreach(Map(address, handle, 1), "map-size");
  ExpectBreach(Map(address + 4096, handle, 2), "map-misaligned");
  ExpectBreach(api_.cuMemMap(address, kUnit + 1, 0, handle, 0),
               "map-misaligned");
  EXPECT_EQ(Map(address, handle, 2), Result::kSuccess);
}

TEST_F(FakeMemoryTest, MapStaysInOneReservation) {
  const DevicePointer address = Reserve(2);
  const AllocationHandle handle = Create(2);
  ExpectBreach(Map(address + kUnit, handle, 2), "map-outside-reservation");
  ExpectBreach(Map(kUnit, handle, 2), "map-outside-reservation");
}

TEST_F(FakeMemoryTest, MapRefusesMappedAddresses) {
  const DevicePointer address = Reserve(4);
  ASSERT_EQ(Map(address + kUnit, Create(1), 1), Result::kSuccess);
  const AllocationHandle other = Create(2);
  ExpectBreach(Map(address, other, 2), "map-on-mapped");
  ExpectBreach(Map(address + kUnit, other, 2), "map-on-mapped");
  EXPECT_EQ(Map(address + 2 * kUnit, other, 2), Result::kSuccess);
}

TEST_F(FakeMemoryTest, UnmapTakesWholeMappings) {
  const DevicePointer address = Reserve(4);
  ASSERT_EQ(Map(address, Create(2), 2), Result::kSuccess);
  ASSERT_EQ(Map(address + 2 * kUnit, Create(1), 1), Result::kSuccess);
  ExpectBreach(api_.cuMemUnmap(address, kUnit), "unmap-partial");
  ExpectBreach(api_.cuMemUnmap(address + kUnit, 2 * kUnit), "unmap-partial");
  ExpectBreach(api_.cuMemUnmap(address, 4 * kUnit), "unmap-not-mapped");
  ExpectBreach(api_.cuMemUnmap(address + 3 * kUnit, kUnit), "unmap-not-mapped");
  ExpectBreach(api_.cuMemUnmap(address, kUnit / 2), "unmap-misaligned");
  ExpectBreach(api_.cuMemUnmap(address + 1, kUnit), "unmap-misaligned");
  EXPECT_EQ(api_.cuMemUnmap(address, 3 * kUnit), Result::kSuccess);
}

TEST_F(FakeMemoryTest, AccessNeedsMemoryBehindTheWholeRange) {
  const DevicePointer address = Reserve(4);
  ASSERT_EQ(Map(address, Create(1), 1), Result::kSuccess);
  ASSERT_EQ(Map(address + 2 * kUnit, Create(1), 1), Result::kSuccess);
  ExpectBreach(SetAccess(address, 3 * kUnit), "access-partly-mapped");
  ExpectBreach(SetAccess(address + kUnit, kUnit), "access-partly-mapped");
  ExpectBreach(SetAccess(address, kUnit / 2), "access-misaligned");
  AccessDescription access;
  access.location = {LocationType::kDevice, 0};
  access.flags = AccessFlags::kNone;
  ExpectBreach(api_.cuMemSetAccess(address, kUnit, &access, 1),
               "access-description");
  EXPECT_EQ(SetAccess(address, kUnit), Result::kSuccess);
}

TEST_F(FakeMemoryTest, UnmappedAndFreshRangesTrap) {
  const DevicePointer address = Reserve(1);
  EXPECT_DEATH(*Bytes(address) = 1, "");
  ASSERT_EQ(Map(address, Create(1), 1), Result::kSuccess);
  EXPECT_DEATH(*Bytes(address) = 1, "");
  ASSERT_EQ(SetAccess(address, kUnit), Result::kSuccess);
  *Bytes(address) = 1;
  ASSERT_EQ(api_.cuMemUnmap(address, kUnit), Result::kSuccess);
  EXPECT_DEATH(*Bytes(address) = 1, "");
}

TEST_F(FakeMemoryTest, FreshMemoryIsJunk) { EXPECT_EQ(*Bytes(Ready(1)), 0xC3); }

TEST_F(FakeMemoryTest, AHandleMayHaveTwoAddresses) {
  const DevicePointer address = Reserve(2);
  const AllocationHandle handle = Create(1);
  ASSERT_EQ(Map(address, handle, 1), Result::kSuccess);
  ASSERT_EQ(Map(address + kUnit, handle, 1), Result::kSuccess);
  ASSERT_EQ(SetAccess(address, 2 * kUnit), Result::kSuccess);
  *Bytes(address) = 42;
  EXPECT_EQ(*Bytes(address + kUnit), 42);
}

TEST_F(FakeMemoryTest, NoMemoryIsMappedInACapture) {
  const DevicePointer address = Ready(1);
  const AllocationHandle handle = Create(1);
  const StreamHandle stream = CreateStream();
  ASSERT_EQ(driver_.BeginCapture(stream), Result::kSuccess);
  constexpr Result kRefused = Result::kCaptureUnsupported;
  const AllocationProperties properties = DeviceMemory(0);
  AllocationHandle other = 0;
  DevicePointer range = 0;
  ExpectBreach(api_.cuMemAddressReserve(&range, kUnit, kUnit, 0, 0),
               "vmm-in-capture", kRefused);
  ExpectBreach(api_.cuMemAddressFree(address, kUnit), "vmm-in-capture",
               kRefused);
  ExpectBreach(api_.cuMemCreate(&other, kUnit, &properties, 0),
               "vmm-in-capture", kRefused);
  ExpectBreach(api_.cuMemRelease(handle), "vmm-in-capture", kRefused);
  ExpectBreach(Map(address, handle, 1), "vmm-in-capture", kRefused);
  ExpectBreach(SetAccess(address, kUnit), "vmm-in-capture", kRefused);
  ExpectBreach(api_.cuMemUnmap(address, kUnit), "vmm-in-capture", kRefused);
  ASSERT_EQ(driver_.EndCapture(stream), Result::kSuccess);
  EXPECT_EQ(api_.cuMemUnmap(address, kUnit), Result::kSuccess);
}

TEST_F(FakeMemoryTest, LeaksAreCounted) {
  const DevicePointer address = Ready(2);
  Create(1);
  Reserve(1);
  CreateStream();
  CreateEvent();
  const FakeLeaks leaks = driver_.leaks();
  EXPECT_EQ(leaks.handles, 3);
  EXPECT_EQ(leaks.reservations, 2);
  EXPECT_EQ(leaks.mappings, 2);
  EXPECT_EQ(leaks.streams, 1);
  EXPECT_EQ(leaks.events, 1);
  EXPECT_EQ(leaks.context_references, 1);
  EXPECT_EQ(leaks.contexts_pushed, 1);
  EXPECT_FALSE(leaks.none());
  ASSERT_EQ(api_.cuMemUnmap(address, 2 * kUnit), Result::kSuccess);
  EXPECT_EQ(driver_.leaks().mappings, 0);
}

}  // namespace
}  // namespace rekindle::cuda
