// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/history_allocator.h"

#include <memory>
#include <utility>

#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using Action = MemoryEvent::Action;

class HistoryAllocatorTest : public testing::Test {
 protected:
  static std::unique_ptr<HistoryAllocator> Open(Device& device,
                                                size_t capacity) {
    return std::make_unique<HistoryAllocator>(
        VmmAllocator::Create(device, {.budget = 256 * kKiB}).value(), capacity);
  }

  const std::unique_ptr<CountingDevice> device_ =
      CountingDevice::Open({.capacity = kMiB, .granularity = 64 * kKiB})
          .value();
};

TEST_F(HistoryAllocatorTest, RemembersWhoDidWhat) {
  const auto allocator = Open(*device_, 10);
  allocator->SetFrame({"forward", "a.cc", 1});
  const Block block = **allocator->Allocate(100 * kKiB);
  EXPECT_EQ(*allocator->Allocate(kMiB), std::nullopt);  // no event
  allocator->RememberOutOfMemory(kMiB);
  allocator->SetFrame({"backward", "a.cc", 2});
  allocator->Free(block);

  const std::vector<MemoryEvent> events = allocator->events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].action, Action::kAllocate);
  EXPECT_EQ(events[0].address, block.address);
  EXPECT_EQ(events[0].bytes, 100 * kKiB);
  EXPECT_EQ(events[0].frame.name, "forward");
  EXPECT_EQ(events[1].action, Action::kOutOfMemory);
  EXPECT_EQ(events[1].bytes, kMiB);
  EXPECT_EQ(events[1].free_bytes, 128 * kKiB);
  EXPECT_EQ(events[2].action, Action::kFree);
  EXPECT_EQ(events[2].address, block.address);
  EXPECT_EQ(events[2].frame.name, "backward");
}

TEST_F(HistoryAllocatorTest, ForgetsTheOldest) {
  const auto allocator = Open(*device_, 3);
  for (size_t i = 1; i <= 4; ++i) {
    allocator->Free(**allocator->Allocate(i * kKiB));
  }
  const std::vector<MemoryEvent> events = allocator->events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].bytes, 3 * kKiB);
  EXPECT_EQ(events[0].action, Action::kFree);
  EXPECT_EQ(events[2].bytes, 4 * kKiB);
}

TEST_F(HistoryAllocatorTest, EmptyBlocksAreNoEvents) {
  const auto allocator = Open(*device_, 3);
  allocator->Free(**allocator->Allocate(0));
  EXPECT_TRUE(allocator->events().empty());
}

}  // namespace
}  // namespace rekindle
