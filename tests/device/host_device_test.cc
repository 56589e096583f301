// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/host/host_device.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "rekindle/base/units.h"
#include "tests/base/status_matchers.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REKINDLE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REKINDLE_SANITIZED 1
#endif
#endif
#ifndef REKINDLE_SANITIZED
#define REKINDLE_SANITIZED 0
#endif

namespace rekindle {
namespace {

using testing::HasSubstr;

constexpr size_t kUnit = 64 * kKiB;

std::unique_ptr<HostDevice> Open(HostDeviceOptions options) {
  return HostDevice::Open(options).value();
}

uint8_t* Bytes(DeviceAddress address) {
  return reinterpret_cast<uint8_t*>(address);
}

// Whether the kernel can read the byte; asking it does not trap.
bool Readable(DeviceAddress address) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const ssize_t written = write(ends[1], Bytes(address), 1);
  const bool fault = written < 0 && errno == EFAULT;
  close(ends[0]);
  close(ends[1]);
  return !fault;
}

TEST(HostDeviceTest, OptionsOutOfRangeAreNamed) {
  for (const size_t granularity :
       {size_t{0}, size_t{1000}, size_t{2048}, 3 * 64 * kKiB}) {
    const auto device = HostDevice::Open({.granularity = granularity});
    EXPECT_THAT(device, IsInvalidArgument());
    EXPECT_THAT(device.status().ToString(),
                HasSubstr(std::to_string(granularity)));
  }
  const auto device = HostDevice::Open({.capacity = 1000, .granularity = 4096});
  EXPECT_THAT(device, IsInvalidArgument());
  EXPECT_THAT(device.status().ToString(), HasSubstr("1000"));
}

TEST(HostDeviceTest, CapacityIsPhysicalMemoryByDefault) {
  const size_t pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
  const size_t bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(Open({})->memory_info().total, RoundDown(bytes, kUnit));
  EXPECT_EQ(Open({})->granularity(), kUnit);
}

TEST(HostDeviceTest, CapacityIsRoundedDownToChunks) {
  EXPECT_EQ(Open({.capacity = 3 * kUnit + 1})->memory_info().total, 3 * kUnit);
}

TEST(HostDeviceTest, SaysWhatItIs) {
  const auto device = Open({.capacity = kMiB});
  EXPECT_EQ(device->name(), "host");
  EXPECT_TRUE(device->holds_bytes());
}

TEST(HostDeviceTest, OnlyMappedAddressesCanBeTouched) {
  const auto device = Open({.capacity = kMiB});
  const DeviceAddress address = device->Reserve(3 * kUnit).value();
  const ChunkId chunk = device->Create(kUnit).value();
  EXPECT_FALSE(Readable(address + kUnit));
  ASSERT_THAT(device->Map(address + kUnit, {chunk}), IsOk());
  EXPECT_FALSE(Readable(address + kUnit - 1));
  EXPECT_TRUE(Readable(address + kUnit));
  EXPECT_TRUE(Readable(address + 2 * kUnit - 1));
  EXPECT_FALSE(Readable(address + 2 * kUnit));
  ASSERT_THAT(device->Unmap(address + kUnit, kUnit), IsOk());
  EXPECT_FALSE(Readable(address + kUnit));
}

TEST(HostDeviceDeathTest, TouchingUnmappedMemoryTraps) {
  const auto device = Open({.capacity = kMiB});
  const DeviceAddress address = device->Reserve(kUnit).value();
  EXPECT_DEATH(*static_cast<volatile uint8_t*>(Bytes(address)) = 1, "");
  ASSERT_THAT(device->Map(address, {device->Create(kUnit).value()}), IsOk());
  *Bytes(address) = 1;
  ASSERT_THAT(device->Unmap(address, kUnit), IsOk());
  EXPECT_DEATH(*static_cast<volatile uint8_t*>(Bytes(address)) = 1, "");
}

TEST(HostDeviceTest, KernelsReadAndWriteMappedMemory) {
  const auto device = Open({.capacity = kMiB});
  const DeviceAddress address = device->Reserve(kUnit).value();
  ASSERT_THAT(device->Map(address, {device->Create(kUnit).value()}), IsOk());
  Bytes(address)[kUnit - 1] = 42;
  uint8_t byte = 0;
  ASSERT_THAT(device->CopyToHost(&byte, address + kUnit - 1, 1, Stream()),
              IsOk());
  EXPECT_EQ(byte, 42);
}

TEST(HostDeviceTest, ReservationsKeepNoAddressesForAlignment) {
  if (REKINDLE_SANITIZED) GTEST_SKIP() << "sanitizers take addresses too";
  const auto device = Open({.capacity = 4 * kMiB, .granularity = 2 * kMiB});
  const auto address_space = [] {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * 4096;
  };
  const size_t before = address_space();
  std::vector<DeviceAddress> addresses;
  for (int i = 0; i < 64; ++i) {
    addresses.push_back(device->Reserve(2 * kMiB).value());
  }
  EXPECT_LE(address_space(), before + 65 * 2 * kMiB);
  for (const DeviceAddress address : addresses) {
    ASSERT_THAT(device->Release(address, 2 * kMiB), IsOk());
  }
  EXPECT_LE(address_space(), before + 2 * kMiB);
}

TEST(HostDeviceTest, OverlappingCopiesMoveTheBytes) {
  const auto device = Open({.capacity = kMiB});
  const DeviceAddress address = device->Reserve(kUnit).value();
  ASSERT_THAT(device->Map(address, {device->Create(kUnit).value()}), IsOk());
  for (int i = 0; i < 100; ++i) Bytes(address)[i] = static_cast<uint8_t>(i);
  ASSERT_THAT(device->Copy(address + 1, address, 99, Stream()), IsOk());
  for (int i = 0; i < 99; ++i) EXPECT_EQ(Bytes(address)[i + 1], i);
}

TEST(HostDeviceTest, DestroyedChunksGiveTheirPagesBack) {
  const auto device = Open({.capacity = 64 * kMiB});
  const DeviceAddress address = device->Reserve(kUnit).value();
  const ChunkId chunk = device->Create(kUnit).value();
  ASSERT_THAT(device->Map(address, {chunk}), IsOk());
  ASSERT_THAT(device->Fill(address, 0xFF, kUnit, Stream()), IsOk());
  ASSERT_THAT(device->Unmap(address, kUnit), IsOk());
  ASSERT_THAT(device->Destroy(chunk), IsOk());
  // The extent is used again; a punched hole reads as zeros.
  ASSERT_THAT(device->Map(address, {device->Create(kUnit).value()}), IsOk());
  EXPECT_EQ(*Bytes(address), 0);
}

TEST(HostDeviceTest, PoisonOverwritesFreedAndFreshBytes) {
  const auto device = Open({.capacity = kMiB, .poison = true});
  const DeviceAddress address = device->Reserve(kUnit).value();
  ASSERT_THAT(device->Map(address, {device->Create(kUnit).value()}), IsOk());
  device->MarkFree(address, kUnit);
  device->MarkUsed(address + 256, 256);
  EXPECT_EQ(Bytes(address)[256], HostDevice::kFreshByte);
  EXPECT_EQ(Bytes(address)[511], HostDevice::kFreshByte);
#if !REKINDLE_SANITIZED
  EXPECT_EQ(Bytes(address)[255], HostDevice::kFreedByte);
  EXPECT_EQ(Bytes(address)[512], HostDevice::kFreedByte);
#endif
}

TEST(HostDeviceTest, WithoutPoisonBytesAreLeftAlone) {
  const auto device = Open({.capacity = kMiB});
  const DeviceAddress address = device->Reserve(kUnit).value();
  ASSERT_THAT(device->Map(address, {device->Create(kUnit).value()}), IsOk());
  *Bytes(address) = 7;
  device->MarkFree(address, kUnit);
  device->MarkUsed(address, kUnit);
  EXPECT_EQ(*Bytes(address), 7);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(HostDeviceDeathTest, AddressSanitizerSeesUseAfterFree) {
  const auto device = Open({.capacity = kMiB});
  const DeviceAddress address = device->Reserve(kUnit).value();
  ASSERT_THAT(device->Map(address, {device->Create(kUnit).value()}), IsOk());
  device->MarkFree(address + 512, 512);
  EXPECT_DEATH(*static_cast<volatile uint8_t*>(Bytes(address + 512)) = 1,
               "use-after-poison");
  device->MarkUsed(address + 512, 100);
  *Bytes(address + 611) = 1;
  EXPECT_DEATH(*static_cast<volatile uint8_t*>(Bytes(address + 640)) = 1,
               "use-after-poison");
}
#endif

// Maps every other granule of a large range until the system has no more
// mappings. In a process of its own: few other things work in this state.
[[noreturn]] void ExhaustMappings() {
  const auto device = Open({.capacity = kGiB, .granularity = 4 * kKiB});
  const size_t units = kGiB / (4 * kKiB);
  const DeviceAddress address = device->Reserve(units * 4 * kKiB).value();
  std::vector<ChunkId> chunks;
  for (size_t i = 0; i < units; i += 2) {
    chunks.push_back(device->Create(4 * kKiB).value());
    const DeviceAddress at = address + i * 4 * kKiB;
    const absl::Status status = device->Map(at, {chunks.back()});
    if (status.ok()) continue;
    const bool unchanged = !Readable(at) &&
                           device->Destroy(chunks.back()).ok() &&
                           device->Unmap(address, 4 * kKiB).ok();
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::_Exit(absl::IsResourceExhausted(status) && unchanged ? 0 : 1);
  }
  std::_Exit(2);
}

TEST(HostDeviceDeathTest, RunningOutOfMappingsSaysSo) {
  size_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  if (REKINDLE_SANITIZED || limit == 0 || limit > 200'000) {
    GTEST_SKIP() << "vm.max_map_count is " << limit
                 << (REKINDLE_SANITIZED ? ", and a sanitizer needs it" : "");
  }
  EXPECT_EXIT(ExhaustMappings(), testing::ExitedWithCode(0), "max_map_count");
}

TEST(HostDeviceTest, ThreadsCanUseItAtOnce) {
  const auto device = Open({.capacity = 64 * kMiB});
  std::vector<std::thread> threads;
  for (uint8_t value = 1; value <= 4; ++value) {
    threads.emplace_back([&device, value] {
      for (int i = 0; i < 100; ++i) {
        const DeviceAddress address = device->Reserve(kUnit).value();
        const ChunkId chunk = device->Create(kUnit).value();
        ASSERT_THAT(device->Map(address, {chunk}), IsOk());
        ASSERT_THAT(device->Fill(address, value, kUnit, Stream()), IsOk());
        EXPECT_EQ(Bytes(address)[i], value);
        ASSERT_THAT(device->Unmap(address, kUnit), IsOk());
        ASSERT_THAT(device->Destroy(chunk), IsOk());
        ASSERT_THAT(device->Release(address, kUnit), IsOk());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device->memory_info().created, 0u);
  device->CheckInvariants();
}

}  // namespace
}  // namespace rekindle
