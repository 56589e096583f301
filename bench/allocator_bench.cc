// SPDX-License-Identifier: Apache-2.0
// What one allocate plus one free costs, on a device that only counts: with 0,
// 1,000 and 100,000 other blocks alive. BM_Malloc, in the same run, says how
// fast the machine is.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "rekindle/allocator/bfc_allocator.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"

namespace rekindle {
namespace {

constexpr size_t kChunk = 2 * kMiB;
constexpr size_t kBlock = 64 * kKiB;

template <typename AllocatorType>
std::unique_ptr<Allocator> Open(Device& device, size_t budget);

template <>
std::unique_ptr<Allocator> Open<VmmAllocator>(Device& device, size_t budget) {
  return VmmAllocator::Create(device, {.budget = budget}).value();
}

template <>
std::unique_ptr<Allocator> Open<BfcAllocator>(Device& device, size_t budget) {
  return BfcAllocator::Create(device, {.budget = budget}).value();
}

// An allocator with `live` blocks of 64 KiB, some of them with free blocks of
// other sizes between. The destructor counts the device calls of the loop.
template <typename AllocatorType>
class Fixture {
 public:
  explicit Fixture(benchmark::State& state)
      : state_(state),
        device_(CountingDevice::Open({}).value()),
        allocator_(Open<AllocatorType>(*device_, 64 * kGiB)) {
    std::vector<Block> gaps;
    for (int64_t i = 0; i < state.range(0); ++i) {
      Allocate(kBlock);
      if (i % 16 == 0) gaps.push_back(Allocate(kKiB * (8 + i / 16 % 32)));
    }
    for (const Block& gap : gaps) Free(gap);
  }
  ~Fixture() {
    state_.counters["vmm_calls"] =
        static_cast<double>(allocator_->stats().vmm_calls - before_);
  }

  Block Allocate(size_t bytes) { return **allocator_->Allocate(bytes); }
  void Free(Block block) { allocator_->Free(block); }
  absl::Status Trim() { return allocator_->Trim(); }

  // Lowers the budget to the live memory and `bytes`.
  absl::Status LeaveRoomFor(size_t bytes) {
    return allocator_->SetBudget(allocator_->stats().live_physical_bytes +
                                 bytes);
  }

  // The set-up is over.
  void Start() { before_ = allocator_->stats().vmm_calls; }

 private:
  benchmark::State& state_;
  const std::unique_ptr<CountingDevice> device_;
  const std::unique_ptr<Allocator> allocator_;
  int64_t before_ = 0;
};

using Vmm = Fixture<VmmAllocator>;
using Bfc = Fixture<BfcAllocator>;

void BM_Malloc(benchmark::State& state) {
  std::vector<void*> live;
  for (int64_t i = 0; i < state.range(0); ++i) {
    live.push_back(std::malloc(kBlock));
  }
  for (auto _ : state) {
    void* block = std::malloc(kBlock);
    benchmark::DoNotOptimize(block);
    std::free(block);
  }
  for (void* block : live) std::free(block);
}

template <typename F>
void AllocateAndFree(benchmark::State& state, F& fixture) {
  fixture.Start();
  for (auto _ : state) {
    const Block block = fixture.Allocate(kBlock);
    benchmark::DoNotOptimize(block.address);
    fixture.Free(block);
  }
}

// A free block of just this size waits between live ones.
template <typename F>
void BM_Hit(benchmark::State& state) {
  F fixture(state);
  const Block waiting = fixture.Allocate(kBlock);
  fixture.Allocate(kBlock);
  fixture.Free(waiting);
  AllocateAndFree(state, fixture);
}

// Every block is cut from a large free one and merged with it again.
template <typename F>
void BM_SplitAndCoalesce(benchmark::State& state) {
  F fixture(state);
  fixture.Free(fixture.Allocate(64 * kMiB));
  AllocateAndFree(state, fixture);
}

// Free blocks on both sides: each free merges three, each allocate splits one.
template <typename F>
void BM_CoalesceBoth(benchmark::State& state) {
  F fixture(state);
  fixture.Free(fixture.Allocate(64 * kMiB));
  fixture.Start();
  for (auto _ : state) {
    const Block left = fixture.Allocate(kBlock);
    const Block middle = fixture.Allocate(kBlock);
    const Block right = fixture.Allocate(kBlock);
    fixture.Free(left);
    fixture.Free(right);
    fixture.Free(middle);
  }
}

// Nothing is cached: the device is asked for every block and gets it back.
template <typename F>
void BM_Miss(benchmark::State& state) {
  F fixture(state);
  fixture.Start();
  for (auto _ : state) {
    fixture.Free(fixture.Allocate(16 * kMiB));
    if (!fixture.Trim().ok()) state.SkipWithError("trim");
  }
}

// The last block of each round takes what the budget has left, some of it on
// either side of a live block. Sizes vary, so that no layout suits all rounds.
void BM_Remap(benchmark::State& state) {
  Vmm fixture(state);
  if (!fixture.LeaveRoomFor(26 * kChunk).ok()) state.SkipWithError("budget");
  std::mt19937 random(1);
  fixture.Start();
  for (auto _ : state) {
    const size_t first = 1 + random() % 12;
    const size_t second = 1 + random() % 8;
    const Block a = fixture.Allocate(first * kChunk);
    const Block b = fixture.Allocate(second * kChunk);
    fixture.Free(a);
    const Block c = fixture.Allocate((24 - second) * kChunk);
    fixture.Free(b);
    fixture.Free(c);
  }
}

void BM_Slab(benchmark::State& state) {
  Vmm fixture(state);
  for (int64_t i = 0; i < state.range(0); ++i) fixture.Allocate(kKiB);
  fixture.Start();
  for (auto _ : state) {
    const Block block = fixture.Allocate(kKiB);
    benchmark::DoNotOptimize(block.address);
    fixture.Free(block);
  }
}

#define REKINDLE_LIVE Arg(0)->Arg(1000)->Arg(100000)
BENCHMARK(BM_Malloc)->REKINDLE_LIVE;
BENCHMARK_TEMPLATE(BM_Hit, Vmm)->REKINDLE_LIVE;
BENCHMARK_TEMPLATE(BM_Hit, Bfc)->REKINDLE_LIVE;
BENCHMARK_TEMPLATE(BM_SplitAndCoalesce, Vmm)->REKINDLE_LIVE;
BENCHMARK_TEMPLATE(BM_SplitAndCoalesce, Bfc)->REKINDLE_LIVE;
BENCHMARK_TEMPLATE(BM_CoalesceBoth, Vmm)->REKINDLE_LIVE;
BENCHMARK_TEMPLATE(BM_CoalesceBoth, Bfc)->REKINDLE_LIVE;
BENCHMARK_TEMPLATE(BM_Miss, Vmm)->REKINDLE_LIVE;
BENCHMARK_TEMPLATE(BM_Miss, Bfc)->REKINDLE_LIVE;
BENCHMARK(BM_Remap)->REKINDLE_LIVE;
BENCHMARK(BM_Slab)->REKINDLE_LIVE;
#undef REKINDLE_LIVE

}  // namespace
}  // namespace rekindle
