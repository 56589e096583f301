// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/vmm_allocator.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/fault_injecting_device.h"
#include "rekindle/device/host/host_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using testing::HasSubstr;
using Verb = FaultInjectingDevice::Verb;

constexpr size_t kChunk = 64 * kKiB;

class VmmAllocatorTest : public testing::Test {
 protected:
  VmmAllocatorTest() { Open({.budget = 8 * kChunk}); }
  ~VmmAllocatorTest() override {
    if (allocator_ != nullptr) allocator_->CheckInvariants();
  }

  void Open(const VmmAllocatorOptions& options) {
    allocator_.reset();
    allocator_ = VmmAllocator::Create(device_, options).value();
  }

  std::optional<Block> Allocate(size_t bytes) {
    return allocator_->Allocate(bytes).value();
  }

  size_t created() const { return inner_->memory_info().created; }

  const std::unique_ptr<CountingDevice> inner_ =
      CountingDevice::Open({.capacity = 64 * kChunk, .granularity = kChunk})
          .value();
  FaultInjectingDevice device_{*inner_};
  std::unique_ptr<VmmAllocator> allocator_;
};

TEST_F(VmmAllocatorTest, OptionsOutOfRangeAreNamed) {
  const auto odd_chunk = VmmAllocator::Create(device_, {.chunk_bytes = 5000});
  EXPECT_THAT(odd_chunk, IsInvalidArgument());
  EXPECT_THAT(odd_chunk.status().ToString(), HasSubstr("chunk_bytes 5000"));
  const auto odd_page =
      VmmAllocator::Create(device_, {.slab_page_bytes = 5000});
  EXPECT_THAT(odd_page, IsInvalidArgument());
  EXPECT_THAT(odd_page.status().ToString(), HasSubstr("slab_page_bytes 5000"));
  EXPECT_THAT(VmmAllocator::Create(device_, {.small_block_limit = 2048,
                                             .slab_page_bytes = 1024}),
              IsInvalidArgument());
  EXPECT_THAT(VmmAllocator::Create(device_, {.small_block_limit = 2 * kMiB}),
              IsInvalidArgument());
}

TEST_F(VmmAllocatorTest, ADeviceWithoutAddressesIsAnError) {
  device_.FailCall(Verb::kReserve, 1, absl::InternalError("broken"));
  EXPECT_THAT(VmmAllocator::Create(device_, {.budget = kMiB}),
              HasCode(absl::StatusCode::kInternal));
  device_.FailCall(Verb::kReserve, 1, absl::ResourceExhaustedError("no"), 100);
  EXPECT_THAT(VmmAllocator::Create(device_, {.budget = kMiB}),
              IsResourceExhausted());
  device_.Clear();
}

TEST_F(VmmAllocatorTest, ABlockHasWhatWasAskedFor) {
  const std::optional<Block> block = Allocate(100'000);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->bytes, 100'000u);
  EXPECT_EQ(block->address % 512, 0u);
  const std::optional<Block> small = Allocate(100);
  EXPECT_EQ(small->bytes, 100u);
  EXPECT_EQ(small->address % 256, 0u);
}

TEST_F(VmmAllocatorTest, NoBytesTakeNothing) {
  const std::optional<Block> block = Allocate(0);
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->address, 0u);
  allocator_->Free(*block);
  EXPECT_EQ(allocator_->WorstCaseBytes(0), 0u);
  EXPECT_EQ(allocator_->stats().live_blocks, 0);
  EXPECT_EQ(created(), 0u);
}

TEST_F(VmmAllocatorTest, MoreThanTheBudgetDoesNotFit) {
  EXPECT_FALSE(Allocate(8 * kChunk + 1).has_value());
  EXPECT_FALSE(Allocate(~size_t{0}).has_value());
  EXPECT_TRUE(Allocate(8 * kChunk).has_value());
  EXPECT_FALSE(Allocate(1).has_value());
}

TEST_F(VmmAllocatorTest, OnlyWholeChunksOfTheBudgetAreUsed) {
  Open({.budget = 2 * kChunk - 1});
  EXPECT_FALSE(Allocate(kChunk + 512).has_value());
  EXPECT_TRUE(Allocate(kChunk).has_value());
  Open({.budget = kChunk - 1});
  EXPECT_FALSE(Allocate(1).has_value());
  Open({.budget = 0});
  EXPECT_FALSE(Allocate(1).has_value());
}

TEST_F(VmmAllocatorTest, StatsCountBytesAndCalls) {
  const std::optional<Block> large = Allocate(kChunk + 1);
  const std::optional<Block> small = Allocate(300);
  AllocatorStats stats = allocator_->stats();
  EXPECT_EQ(stats.budget, 8 * kChunk);
  EXPECT_EQ(stats.requested_bytes, kChunk + 301);
  EXPECT_EQ(stats.reserved_bytes, kChunk + 512 + kChunk);
  EXPECT_EQ(stats.live_physical_bytes, 3 * kChunk);
  EXPECT_EQ(stats.physical_bytes, 3 * kChunk);
  EXPECT_EQ(stats.live_blocks, 2);
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.vmm_calls, 5);
  allocator_->Free(*large);
  allocator_->Free(*small);
  stats = allocator_->stats();
  EXPECT_EQ(stats.requested_bytes, 0u);
  EXPECT_EQ(stats.reserved_bytes, 0u);
  EXPECT_EQ(stats.live_physical_bytes, 0u);
  EXPECT_EQ(stats.physical_bytes, 3 * kChunk);
  EXPECT_EQ(stats.peak_physical_bytes, 3 * kChunk);
  EXPECT_EQ(stats.live_blocks, 0);
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.vmm_calls, 5);
  EXPECT_EQ(stats.refusals, 0);
}

TEST_F(VmmAllocatorTest, ALoweredBudgetGivesCachedMemoryBackAtOnce) {
  const std::optional<Block> first = Allocate(4 * kChunk);
  const std::optional<Block> second = Allocate(2 * kChunk);
  allocator_->Free(*first);
  ASSERT_THAT(allocator_->SetBudget(3 * kChunk), IsOk());
  EXPECT_EQ(created(), 3 * kChunk);
  ASSERT_THAT(allocator_->SetBudget(kChunk), IsOk());
  EXPECT_EQ(created(), 2 * kChunk);
  allocator_->Free(*second);
  EXPECT_EQ(created(), kChunk);
}

TEST_F(VmmAllocatorTest, ARaisedBudgetIsUsed) {
  ASSERT_TRUE(Allocate(8 * kChunk).has_value());
  ASSERT_THAT(allocator_->SetBudget(60 * kChunk), IsOk());
  EXPECT_TRUE(Allocate(52 * kChunk).has_value());
}

TEST_F(VmmAllocatorTest, TrimGivesCachedMemoryBack) {
  const std::optional<Block> block = Allocate(4 * kChunk);
  ASSERT_TRUE(Allocate(1).has_value());
  allocator_->Free(*block);
  ASSERT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(created(), kChunk);
}

TEST_F(VmmAllocatorTest, ItsEndGivesLiveMemoryBackToo) {
  ASSERT_TRUE(Allocate(3 * kChunk).has_value());
  ASSERT_TRUE(Allocate(100).has_value());
  allocator_.reset();
  EXPECT_EQ(created(), 0u);
  EXPECT_EQ(device_.calls(Verb::kRelease), device_.calls(Verb::kReserve));
}

TEST_F(VmmAllocatorTest, EmptySlabPagesGiveWayToLargeBlocks) {
  std::vector<Block> blocks;
  while (const std::optional<Block> block = Allocate(1000)) {
    blocks.push_back(*block);
  }
  EXPECT_EQ(blocks.size(), 8 * (kChunk / 1024));
  for (const Block& block : blocks) allocator_->Free(block);
  EXPECT_TRUE(Allocate(8 * kChunk).has_value());
}

TEST_F(VmmAllocatorTest, ASmallBlockTakesAGapWhereNoPageFits) {
  const std::optional<Block> first = Allocate(8 * kChunk - 5000);
  ASSERT_TRUE(first.has_value());
  const std::optional<Block> small = Allocate(700);
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->address % 512, 0u);
  allocator_->Free(*small);
  allocator_->Free(*first);
}

TEST_F(VmmAllocatorTest, SmallBlocksCanBeSwitchedOff) {
  Open({.budget = 8 * kChunk, .small_block_limit = 0});
  ASSERT_TRUE(Allocate(100).has_value());
  EXPECT_EQ(allocator_->stats().reserved_bytes, 512u);
}

TEST_F(VmmAllocatorTest, ChunksMayBeLargerThanTheGranularity) {
  Open({.budget = 9 * kChunk, .chunk_bytes = 3 * kChunk});
  ASSERT_TRUE(Allocate(5000).has_value());
  EXPECT_EQ(created(), 3 * kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(5000), 3 * kChunk);
}

TEST_F(VmmAllocatorTest, TheWorstCaseIsWholeChunks) {
  EXPECT_EQ(allocator_->WorstCaseBytes(1), kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(5000), kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(kChunk), kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(10 * kChunk), 11 * kChunk);
  EXPECT_EQ(allocator_->WorstCaseBytes(~size_t{0}), ~size_t{0});
  Open({.budget = 8 * kChunk, .tight_limit = ~size_t{0}});
  EXPECT_EQ(allocator_->WorstCaseBytes(10 * kChunk), 10 * kChunk);
}

TEST_F(VmmAllocatorTest, TheDevicesRefusalsAreCounted) {
  device_.FailCall(Verb::kCreate, 1, absl::ResourceExhaustedError("taken"));
  EXPECT_FALSE(Allocate(5000).has_value());
  EXPECT_EQ(allocator_->stats().refusals, 1);
}

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

TEST_F(VmmAllocatorTest, ErrorsOfTheDeviceAreReported) {
  const absl::Status error = absl::InternalError("broken");
  device_.FailCall(Verb::kCreate, 1, error);
  EXPECT_EQ(allocator_->Allocate(5000).status(), error);
  device_.FailCall(Verb::kMap, 1, error);
  EXPECT_EQ(allocator_->Allocate(100).status(), error);
  allocator_->Free(*Allocate(5000));
  device_.FailCall(Verb::kUnmap, 1, error);
  EXPECT_EQ(allocator_->Trim(), error);
  device_.FailCall(Verb::kDestroy, 1, error);
  EXPECT_EQ(allocator_->SetBudget(0), error);
  allocator_->CheckInvariants();
  EXPECT_THAT(allocator_->Trim(), IsOk());
  EXPECT_EQ(created(), 0u);
}

using VmmAllocatorDeathTest = VmmAllocatorTest;

TEST_F(VmmAllocatorDeathTest, OnlyLiveBlocksCanBeFreed) {
  const Block block = *Allocate(5000);
  EXPECT_DEATH(allocator_->Free({block.address + 512, 5000}), "live block");
  EXPECT_DEATH(allocator_->Free({block.address, 4999}), "live block");
  allocator_->Free(block);
  EXPECT_DEATH(allocator_->Free(block), "live block");
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
