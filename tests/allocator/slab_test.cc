// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/slab.h"

#include <memory>
#include <set>
#include <vector>

#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

constexpr size_t kChunk = 64 * kKiB;
constexpr size_t kPage = 16 * kKiB;

class SlabPoolTest : public testing::Test {
 protected:
  SlabPoolTest() { EXPECT_THAT(arena_.Open(), IsOk()); }

  SlabPool::Slot Allocate(size_t bytes) {
    const SlabPool::Slot slot = pool_.Allocate(bytes, Stream()).value();
    pool_.CheckInvariants();
    return slot;
  }

  void Free(SlabPool::Slot slot) {
    pool_.Free(slot, arena_.order().Use(Stream()));
    pool_.CheckInvariants();
  }

  const std::unique_ptr<CountingDevice> device_ =
      CountingDevice::Open({.capacity = kMiB, .granularity = kChunk}).value();
  Ledger ledger_{2 * kChunk};
  Arena arena_{*device_, ledger_, kChunk, kChunk};
  SlabPool pool_{arena_, 4000, kPage};
};

TEST_F(SlabPoolTest, SlotsAreMultiplesOf256GrowingByAtMostAHalf) {
  size_t previous = 0;
  for (size_t bytes = 1; bytes <= 4000; ++bytes) {
    const size_t slot = pool_.SlotBytes(bytes);
    EXPECT_GE(slot, bytes);
    EXPECT_EQ(slot % SlabPool::kAlignment, 0u);
    EXPECT_GE(slot, previous);
    if (bytes > 512) {
      EXPECT_LE(slot, bytes + bytes / 2);
    }
    previous = slot;
  }
  EXPECT_EQ(pool_.SlotBytes(1), 256u);
  EXPECT_EQ(pool_.SlotBytes(257), 512u);
  EXPECT_EQ(pool_.SlotBytes(4000), 4096u);
}

TEST_F(SlabPoolTest, BlocksOfOneClassShareAPage) {
  std::set<DeviceAddress> addresses;
  for (size_t i = 0; i < kPage / 256; ++i) {
    const SlabPool::Slot slot = Allocate(200);
    EXPECT_EQ(slot.address % SlabPool::kAlignment, 0u);
    addresses.insert(slot.address);
  }
  EXPECT_EQ(addresses.size(), kPage / 256);
  EXPECT_EQ(*addresses.rbegin() - *addresses.begin(), kPage - 256);
  EXPECT_EQ(arena_.live_bytes(), kPage);
  Allocate(200);
  EXPECT_EQ(arena_.live_bytes(), 2 * kPage);
}

TEST_F(SlabPoolTest, ClassesHavePagesOfTheirOwn) {
  const SlabPool::Slot small = Allocate(200);
  const SlabPool::Slot large = Allocate(4000);
  EXPECT_NE(small.page, large.page);
}

TEST_F(SlabPoolTest, AnEmptyPageGoesBackAtOnce) {
  const SlabPool::Slot first = Allocate(1000);
  const SlabPool::Slot second = Allocate(1000);
  Free(first);
  EXPECT_EQ(arena_.live_bytes(), kPage);
  Free(second);
  EXPECT_EQ(arena_.live_bytes(), 0u);
}

TEST_F(SlabPoolTest, ThePageAtTheLowestAddressIsFilledFirst) {
  std::vector<SlabPool::Slot> slots;
  for (int i = 0; i < 12; ++i) slots.push_back(Allocate(4000));
  Free(slots[9]);
  Free(slots[1]);
  Free(slots[6]);
  EXPECT_EQ(Allocate(4000).address, slots[1].address);
  EXPECT_EQ(Allocate(4000).address, slots[6].address);
  EXPECT_EQ(Allocate(4000).address, slots[9].address);
}

TEST_F(SlabPoolTest, NoSlotWhenTheArenaHasNoPage) {
  ASSERT_NE(arena_.Allocate(2 * kChunk, Stream()).value(), nullptr);
  EXPECT_EQ(Allocate(100).page, nullptr);
}

}  // namespace
}  // namespace rekindle
