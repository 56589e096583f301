// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "gtest/gtest.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/engine/engine.h"
#include "rekindle/evictor/policies.h"

namespace rekindle {
namespace {

// Deep histories must not overflow a stack: not when they are recorded, read
// back, or dropped.
TEST(MillionCallsTest, ChainUnderFourStoragesIsReadAfterEviction) {
  constexpr int kCalls = 1'000'000;
  constexpr size_t kBytes = 4096;
  CountingDeviceOptions device_options;
  device_options.capacity = size_t{1} << 30;
  device_options.granularity = kBytes;
  auto device = CountingDevice::Open(device_options).value();
  VmmAllocatorOptions allocator_options;
  allocator_options.budget = 4 * kBytes;
  allocator_options.small_block_limit = 0;
  auto allocator = VmmAllocator::Create(*device, allocator_options).value();
  Engine engine(*device, *allocator, MakePolicy("dtr_eq:release=lazy").value());

  StorageId last = engine.AddConstant(kBytes, Kind::kInput, {"start"}).value();
  for (int i = 0; i < kCalls; ++i) {
    CallSpec spec;
    spec.inputs = {last};
    spec.output_bytes = {kBytes};
    spec.cost = 1;
    const StorageId next = engine.Run(std::move(spec)).value().outputs[0];
    engine.DropReference(last);
    last = next;
  }
  ASSERT_TRUE(engine.Evict(last));
  ASSERT_TRUE(engine.Pin(last, {"read"}).ok());
  EXPECT_EQ(engine.stats().calls, kCalls);
  EXPECT_EQ(engine.stats().recomputations, kCalls);
  EXPECT_LE(device->memory_info().peak_created, 4 * kBytes);
  engine.Unpin(last);
  engine.DropReference(last);
  EXPECT_EQ(engine.stats().storages, 0);
}

// As long a history of updates in place must cost each update the same.
TEST(MillionCallsTest, UpdatesInPlaceAreReadAfterEviction) {
  constexpr int kCalls = 300'000;
  constexpr size_t kBytes = 4096;
  CountingDeviceOptions device_options;
  device_options.capacity = size_t{1} << 30;
  device_options.granularity = kBytes;
  auto device = CountingDevice::Open(device_options).value();
  VmmAllocatorOptions allocator_options;
  allocator_options.budget = 4 * kBytes;
  auto allocator = VmmAllocator::Create(*device, allocator_options).value();
  Engine engine(*device, *allocator, MakePolicy("dtr_eq:release=lazy").value());

  const StorageId x = engine.AddConstant(kBytes, Kind::kInput, {"x"}).value();
  CallSpec first;
  first.inputs = {x};
  first.output_bytes = {kBytes};
  StorageId value = engine.Run(std::move(first)).value().outputs[0];
  for (int i = 0; i < kCalls; ++i) {
    CallSpec spec;
    spec.inputs = {value};
    spec.mutates = {0};
    spec.cost = 1;
    value = engine.Run(std::move(spec)).value().updated[0];
  }
  ASSERT_TRUE(engine.Evict(value));
  ASSERT_TRUE(engine.Pin(value, {"read"}).ok());
  EXPECT_EQ(engine.stats().recomputations, kCalls + 1);
  engine.Unpin(value);
  engine.DropReference(value);
  engine.DropReference(x);
  EXPECT_EQ(engine.stats().storages, 0);
}

}  // namespace
}  // namespace rekindle
