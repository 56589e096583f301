// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/history_allocator.h"

#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using Action = MemoryEvent::Action;

constexpr size_t kChunk = 64 * kKiB;

class HistoryAllocatorTest : public testing::Test {
 protected:
  static std::unique_ptr<HistoryAllocator> Open(Device& device,
                                                size_t capacity) {
    return std::make_unique<HistoryAllocator>(
        VmmAllocator::Create(device, {.budget = 256 * kKiB}).value(), capacity);
  }

  const std::unique_ptr<CountingDevice> device_ =
      CountingDevice::Open({.capacity = kMiB, .granularity = kChunk}).value();
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
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].action, Action::kMap);
  EXPECT_EQ(events[0].address, block.address);
  EXPECT_EQ(events[0].bytes, 128 * kKiB);
  EXPECT_EQ(events[1].action, Action::kAllocate);
  EXPECT_EQ(events[1].address, block.address);
  EXPECT_EQ(events[1].bytes, 100 * kKiB);
  EXPECT_EQ(events[1].frame.name, "forward");
  EXPECT_EQ(events[2].action, Action::kOutOfMemory);
  EXPECT_EQ(events[2].bytes, kMiB);
  EXPECT_EQ(events[2].free_bytes, 128 * kKiB);
  EXPECT_EQ(events[3].action, Action::kFree);
  EXPECT_EQ(events[3].address, block.address);
  EXPECT_EQ(events[3].frame.name, "backward");
}

// The chunks behind addresses, by what the events say.
std::set<DeviceAddress> Told(const HistoryAllocator& allocator) {
  std::set<DeviceAddress> chunks;
  for (const MemoryEvent& event : allocator.events()) {
    for (size_t at = 0; at < event.bytes; at += kChunk) {
      const DeviceAddress chunk = event.address + at;
      if (event.action == Action::kMap) {
        EXPECT_TRUE(chunks.insert(chunk).second);
      } else if (event.action == Action::kUnmap) {
        EXPECT_EQ(chunks.erase(chunk), 1u);
      }
    }
  }
  return chunks;
}

std::set<DeviceAddress> There(const HistoryAllocator& allocator) {
  std::set<DeviceAddress> chunks;
  for (const SegmentSnapshot& segment : allocator.Snapshot()) {
    for (size_t at = 0; at < segment.bytes; at += kChunk) {
      chunks.insert(segment.address + at);
    }
  }
  return chunks;
}

TEST_F(HistoryAllocatorTest, MapsAndUnmapsAddUpToTheSegments) {
  const auto allocator = Open(*device_, 10000);
  std::vector<Block> blocks;
  std::mt19937 random(1);
  for (int step = 0; step < 500; ++step) {
    const auto block = *allocator->Allocate((random() % 4 + 1) * 30 * kKiB);
    if (block.has_value()) blocks.push_back(*block);
    if ((!block.has_value() || random() % 2 == 0) && !blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      allocator->Free(blocks.back());
      blocks.pop_back();
    }
    ASSERT_EQ(Told(*allocator), There(*allocator)) << step;
  }
}

TEST_F(HistoryAllocatorTest, WhatTrimUnmapsIsRemembered) {
  const auto allocator = Open(*device_, 10);
  const Block block = **allocator->Allocate(100 * kKiB);
  allocator->Free(block);
  ASSERT_THAT(allocator->Trim(), IsOk());
  const MemoryEvent last = allocator->events().back();
  EXPECT_EQ(last.action, Action::kUnmap);
  EXPECT_EQ(last.address, block.address);
  EXPECT_EQ(last.bytes, 128 * kKiB);
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
