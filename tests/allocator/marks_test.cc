// SPDX-License-Identifier: Apache-2.0
// What happens to accesses outside of live blocks.
#include <algorithm>
#include <memory>
#include <string>

#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/host/host_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

constexpr size_t kChunk = 64 * kKiB;

// The marks that let a device catch stray accesses.
class MarksTest : public testing::Test {
 protected:
  const uint8_t& At(DeviceAddress address) const {
    return *reinterpret_cast<const uint8_t*>(address);
  }

  const std::unique_ptr<HostDevice> device_ =
      HostDevice::Open({.capacity = kMiB, .poison = true}).value();
  const std::unique_ptr<VmmAllocator> allocator_ =
      VmmAllocator::Create(*device_, {.budget = kMiB}).value();
};

TEST_F(MarksTest, FreshBlocksHoldGarbage) {
  for (const size_t bytes : {100u, 5000u, 200'000u}) {
    const Block block = *allocator_->Allocate(bytes).value();
    EXPECT_EQ(At(block.address), HostDevice::kFreshByte);
    EXPECT_EQ(At(block.address + bytes - 1), HostDevice::kFreshByte);
    ASSERT_THAT(device_->Fill(block.address, 1, bytes, Stream()), IsOk());
    allocator_->Free(block);
    const Block again = *allocator_->Allocate(bytes).value();
    EXPECT_EQ(At(again.address), HostDevice::kFreshByte);
  }
}

using MarksDeathTest = MarksTest;

TEST_F(MarksDeathTest, AReadOfFreedMemoryThatMovedTraps) {
  const Block block = *allocator_->Allocate(kMiB / 2).value();
  allocator_->Free(block);
  ASSERT_THAT(allocator_->Trim(), IsOk());
  const volatile uint8_t* const bytes = &At(block.address);
  EXPECT_DEATH(static_cast<void>(bytes[0]), "");
  EXPECT_DEATH(static_cast<void>(bytes[kMiB / 2 - 1]), "");
}

#if defined(__SANITIZE_ADDRESS__)

TEST_F(MarksDeathTest, AddressSanitizerSeesTheEndsOfBlocks) {
  for (const size_t bytes : {104u, 5000u}) {
    const Block block = *allocator_->Allocate(bytes).value();
    const volatile uint8_t* const end = &At(block.address) + bytes;
    EXPECT_DEATH(static_cast<void>(*end), "use-after-poison");
    allocator_->Free(block);
    EXPECT_DEATH(static_cast<void>(end[-1]), "use-after-poison");
  }
}
#else
TEST_F(MarksTest, FreedBlocksAreOverwritten) {
  const Block keep = *allocator_->Allocate(5000).value();
  const Block block = *allocator_->Allocate(5000).value();
  allocator_->Free(block);
  EXPECT_EQ(At(block.address), HostDevice::kFreedByte);
  EXPECT_EQ(At(block.address + 6000), HostDevice::kFreedByte) << "never used";
  EXPECT_EQ(At(keep.address), HostDevice::kFreshByte);
}
#endif

}  // namespace
}  // namespace rekindle
