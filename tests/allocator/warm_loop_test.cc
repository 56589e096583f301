// SPDX-License-Identifier: Apache-2.0
// Loops find a layout that needs no more device calls.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/allocator/vmm_allocator_fixture.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

// A program that is the same in every round: blocks that stay, then others
// that live for about `kLife` requests each.
class Loop {
 public:
  explicit Loop(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < 200; ++i) {
      // Few sizes, as in a real step.
      sizes_.push_back((1 + random() % 12) * 3 * kChunk / 4);
      const int life = static_cast<int>(1 + random() % kLife);
      ends_.push_back(i % 8 == 0 ? 1000 : i + life);
    }
  }

  size_t PeakBytes() const {
    size_t peak = 0;
    for (int now = 0; now < 200; ++now) {
      size_t live = 0;
      for (int i = 0; i <= now; ++i) live += ends_[i] > now ? sizes_[i] : 0;
      peak = std::max(peak, live);
    }
    return peak;
  }

  // One round. False: it did not fit.
  bool Run(Allocator& allocator) const {
    std::vector<std::optional<Block>> blocks(sizes_.size());
    bool fits = true;
    for (int now = 0; now < 200 && fits; ++now) {
      for (int i = 0; i < now; ++i) {
        if (ends_[i] == now) allocator.Free(*std::exchange(blocks[i], {}));
      }
      blocks[now] = allocator.Allocate(sizes_[now]).value();
      fits = blocks[now].has_value();
    }
    for (const auto& block : blocks) {
      if (block.has_value()) allocator.Free(*block);
    }
    return fits;
  }

 private:
  static constexpr int kLife = 60;
  std::vector<size_t> sizes_;
  std::vector<int> ends_;
};

TEST_F(VmmAllocatorTest, ALoopThatMovedMemoryNearlyAlwaysSettles) {
  int moved = 0;
  int settled = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto device =
        CountingDevice::Open({.capacity = 4096 * kChunk, .granularity = kChunk})
            .value();
    const Loop loop(seed);
    const auto allocator =
        VmmAllocator::Create(*device, {.budget = loop.PeakBytes() * 10 / 9})
            .value();
    if (!loop.Run(*allocator) || device->counters().unmap == 0) continue;
    ++moved;
    int64_t before = 0;
    bool fits = true;
    for (int round = 0; round < 3 && fits; ++round) {
      before = allocator->stats().vmm_calls;
      fits = loop.Run(*allocator);
    }
    settled += fits && allocator->stats().vmm_calls == before ? 1 : 0;
    allocator->CheckInvariants();
  }
  EXPECT_GE(moved, 20) << "the budget was short";
  // Without the history it is less than half of them.
  EXPECT_GE(settled, moved - 2);
}

// One step of a training program: parameters stay, activations are freed in
// reverse while gradients come and go, and there is workspace in between.
class Training {
 public:
  explicit Training(Allocator& allocator) : allocator_(allocator) {
    for (size_t i = 0; i < kLayers; ++i) {
      Keep(kActivation * 3 / 2 + i * 4096);
      Keep(700);
    }
  }

  // False if something did not fit.
  bool Step() {
    std::vector<Block> activations;
    for (size_t i = 0; i < kLayers; ++i) {
      activations.push_back(Get(kActivation + i * 12'800));
      activations.push_back(Get(2000));
      Put(Get(kActivation / 3));
    }
    Block gradient = Get(kActivation);
    while (!activations.empty()) {
      const Block next = Get(kActivation - activations.size() * 1000);
      Put(Get(kActivation / 2));
      Put(gradient);
      Put(activations.back());
      activations.pop_back();
      gradient = next;
    }
    Put(gradient);
    return fits_;
  }

 private:
  static constexpr size_t kLayers = 12;
  static constexpr size_t kActivation = 300'000;

  Block Get(size_t bytes) {
    const std::optional<Block> block = allocator_.Allocate(bytes).value();
    fits_ = fits_ && block.has_value();
    return block.value_or(Block());
  }
  void Put(Block block) { allocator_.Free(block); }
  void Keep(size_t bytes) { Get(bytes); }

  Allocator& allocator_;
  bool fits_ = true;
};

class WarmLoopTest : public VmmAllocatorTest,
                     public testing::WithParamInterface<double> {};

TEST_P(WarmLoopTest, MakesNoDeviceCalls) {
  const auto device =
      CountingDevice::Open({.capacity = kGiB, .granularity = kChunk}).value();
  size_t peak = 0;
  {
    const auto allocator =
        VmmAllocator::Create(*device, {.budget = kGiB}).value();
    Training training(*allocator);
    ASSERT_TRUE(training.Step());
    peak = allocator->stats().peak_physical_bytes;
  }
  const auto budget = static_cast<size_t>(GetParam() * peak);
  const auto allocator =
      VmmAllocator::Create(*device, {.budget = budget}).value();
  Training training(*allocator);
  ASSERT_TRUE(training.Step());
  const int64_t calls = allocator->stats().vmm_calls;
  const int64_t waits = device->counters().synchronize;
  for (int step = 0; step < 10; ++step) ASSERT_TRUE(training.Step());
  EXPECT_EQ(allocator->stats().vmm_calls, calls);
  EXPECT_EQ(device->counters().synchronize, waits);
}

INSTANTIATE_TEST_SUITE_P(Budgets, WarmLoopTest,
                         testing::Values(1.0, 1.03, 1.1, 2.0));

}  // namespace
}  // namespace rekindle
