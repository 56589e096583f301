// SPDX-License-Identifier: Apache-2.0
// Long random runs of the allocator on several devices, and random runs with
// each device call failing in turn.
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/fault_injecting_device.h"
#include "rekindle/device/host/host_device.h"
#include "tests/allocator/random_workload.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

using Verb = FaultInjectingDevice::Verb;

struct Geometry {
  std::string name;
  bool host = false;
  bool poison = false;
  size_t granularity = 0;
  size_t chunk_bytes = 0;
  size_t budget = 0;
  size_t largest_block = 0;
  size_t small_block_limit = 4 * kKiB;
  size_t tight_limit = 0;
  int steps = 100'000;  // of a long run
};

void PrintTo(const Geometry& geometry, std::ostream* out) {
  *out << geometry.name;
}

std::string GeometryName(const testing::TestParamInfo<Geometry>& info) {
  return info.param.name;
}

std::unique_ptr<Device> OpenDevice(const Geometry& geometry) {
  const size_t capacity = RoundUp(geometry.budget, geometry.granularity);
  if (geometry.host) {
    return HostDevice::Open({.capacity = capacity,
                             .granularity = geometry.granularity,
                             .poison = geometry.poison})
        .value();
  }
  return CountingDevice::Open(
             {.capacity = capacity, .granularity = geometry.granularity})
      .value();
}

VmmAllocatorOptions OptionsOf(const Geometry& geometry) {
  return {.budget = geometry.budget,
          .chunk_bytes = geometry.chunk_bytes,
          .tight_limit = geometry.tight_limit,
          .small_block_limit = geometry.small_block_limit};
}

std::unique_ptr<VmmAllocator> OpenAllocator(Device& device,
                                            const Geometry& geometry) {
  return VmmAllocator::Create(device, OptionsOf(geometry)).value();
}

// Sees to it that no chunk is ever created above the budget in force.
class WatchedDevice : public FaultInjectingDevice {
 public:
  using FaultInjectingDevice::FaultInjectingDevice;

  void Watch(const Allocator* allocator) { allocator_ = allocator; }

  absl::StatusOr<ChunkId> Create(size_t bytes) override {
    const size_t created = memory_info().created + bytes;
    EXPECT_LE(created, allocator_->stats().budget);
    return FaultInjectingDevice::Create(bytes);
  }

 private:
  const Allocator* allocator_ = nullptr;
};

class RandomAllocatorTest : public testing::TestWithParam<Geometry> {
 protected:
  void Run(uint64_t seed, int steps, int check_every, int budget_change_every) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::unique_ptr<Device> real = OpenDevice(GetParam());
    WatchedDevice device(*real);
    auto allocator = OpenAllocator(device, GetParam());
    device.Watch(allocator.get());
    RandomWorkload workload(device, *allocator, seed,
                            {.largest_block = GetParam().largest_block,
                             .budget_change_every = budget_change_every,
                             .device_fails = false,
                             .compact_every = 40});
    for (int done = 0; done < steps && !HasFailure(); done += check_every) {
      ASSERT_THAT(workload.Run(check_every), IsOk());
      allocator->CheckInvariants();
    }
    EXPECT_GT(workload.misses(), 0) << "the budget was never short";
    moved_blocks_ += allocator->stats().moved_blocks;
    allocator.reset();
    EXPECT_EQ(device.memory_info().created, 0u);
  }

  int64_t moved_blocks_ = 0;
};

TEST_P(RandomAllocatorTest, ShortRunsCheckedAtEveryStep) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Run(seed, GetParam().steps / 50, 1, 100);
  }
}

TEST_P(RandomAllocatorTest, LongRun) {
  Run(100, GetParam().steps, 1000, 0);
  if (GetParam().small_block_limit > 0) {
    EXPECT_GT(moved_blocks_, GetParam().steps / 2000);
  }
}

TEST_P(RandomAllocatorTest, LongRunWithChangingBudgets) {
  Run(101, GetParam().steps, 1000, 500);
}

// Whatever state a random run left, any blocks whose worst cases fit beside the
// live memory can be had, one after another.
TEST_P(RandomAllocatorTest, BlocksWhoseWorstCasesFitCanAllBeHad) {
  const std::unique_ptr<Device> device = OpenDevice(GetParam());
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const auto allocator = OpenAllocator(*device, GetParam());
    RandomWorkload workload(*device, *allocator, seed,
                            {.largest_block = GetParam().largest_block,
                             .budget_change_every = 0,
                             .device_fails = false,
                             .compact_every = 50});
    ASSERT_THAT(workload.Run(500), IsOk());
    std::mt19937_64 random(seed);
    for (size_t n = random() % 40; n > 0; --n) workload.FreeOne();
    size_t room =
        allocator->stats().budget - allocator->stats().live_physical_bytes;
    for (int misses = 0; misses < 20;) {
      size_t bytes = 1 + random() % GetParam().largest_block;
      if (random() % 2 == 0) bytes = 1 + bytes % 5000;
      const size_t worst_case = allocator->WorstCaseBytes(bytes);
      if (worst_case > room) {
        ++misses;
        continue;
      }
      room -= worst_case;
      ASSERT_TRUE(allocator->Allocate(bytes).value().has_value()) << bytes;
    }
  }
}

// Runs a workload during which the n-th call of `verb` fails, goes on with it,
// and runs it again on a device that works. False if there was no n-th call.
bool RunWithFault(Device& working, const Geometry& geometry, Verb verb, int n,
                  const absl::Status& error) {
  constexpr int kSteps = 150;
  const WorkloadOptions options = {.largest_block = geometry.largest_block,
                                   .budget_change_every = 20,
                                   .device_fails = true,
                                   .compact_every = 10};
  FaultInjectingDevice device(working);
  device.FailCall(verb, n, error);
  auto allocator = VmmAllocator::Create(device, OptionsOf(geometry));
  if (allocator.ok()) {
    RandomWorkload workload(device, **allocator, 7, options);
    for (int done = 0; done < 2; ++done) {
      const absl::Status status = workload.Run(kSteps);
      EXPECT_TRUE(status.ok() || status == error) << status.ToString();
      (*allocator)->CheckInvariants();
    }
    workload.FreeAll();
    (*allocator)->CheckInvariants();
  } else {
    EXPECT_EQ(allocator.status(), error);
  }
  const bool reached = device.failures() > 0;
  device.Clear();
  allocator = absl::CancelledError("its end gives all back");
  EXPECT_EQ(working.memory_info().created, 0u);

  const auto again = OpenAllocator(working, geometry);
  RandomWorkload workload(working, *again, 7, options);
  EXPECT_THAT(workload.Run(kSteps), IsOk());
  again->CheckInvariants();
  return reached;
}

// The n-th call for n = 1, 2, ... 8, and further apart from then on.
void FailEachCall(const Geometry& geometry, Verb verb, absl::Status error) {
  const std::unique_ptr<Device> device = OpenDevice(geometry);
  bool reached = true;
  for (int n = 1; reached && !testing::Test::HasFailure(); n += 1 + n / 8) {
    SCOPED_TRACE(absl::StrCat("verb ", static_cast<int>(verb), " call ", n, " ",
                              error.ToString()));
    reached = RunWithFault(*device, geometry, verb, n, error);
  }
}

TEST_P(RandomAllocatorTest, GoesOnAfterAnyDeviceCallIsBroken) {
  for (const Verb verb :
       {Verb::kReserve, Verb::kCreate, Verb::kDestroy, Verb::kMap, Verb::kUnmap,
        Verb::kSynchronize, Verb::kCopy}) {
    FailEachCall(GetParam(), verb, absl::InternalError("broken"));
  }
}

TEST_P(RandomAllocatorTest, GoesOnAfterTheDeviceRefusesMemory) {
  for (const Verb verb : {Verb::kReserve, Verb::kCreate, Verb::kMap}) {
    FailEachCall(GetParam(), verb, absl::ResourceExhaustedError("refused"));
  }
}

const Geometry kCounting[] = {
    {.name = "SmallestChunks",
     .granularity = 256,
     .budget = 64 * kKiB,
     .largest_block = 16 * kKiB,
     .small_block_limit = 1024},
    {.name = "TinyBudget",
     .granularity = 4 * kKiB,
     .budget = 20 * kKiB,
     .largest_block = 18 * kKiB},
    {.name = "NoSlabs",
     .granularity = 4 * kKiB,
     .budget = kMiB,
     .largest_block = 200 * kKiB,
     .small_block_limit = 0},
    {.name = "LargeChunks",
     .granularity = 2 * kMiB,
     .budget = 200 * kMiB + 12345,
     .largest_block = 20 * kMiB},
    {.name = "OddChunks",
     .granularity = 4 * kKiB,
     .chunk_bytes = 12 * kKiB,
     .budget = kMiB,
     .largest_block = 90 * kKiB},
    {.name = "AllTight",
     .granularity = 64 * kKiB,
     .budget = 8 * kMiB,
     .largest_block = kMiB,
     .tight_limit = kGiB},
};

const Geometry kHost[] = {
    {.name = "Pages",
     .host = true,
     .poison = true,
     .granularity = 4 * kKiB,
     .budget = kMiB,
     .largest_block = 100 * kKiB,
     .steps = 20'000},
    {.name = "Usual",
     .host = true,
     .poison = true,
     .granularity = 64 * kKiB,
     .budget = 2 * kMiB,
     .largest_block = 200 * kKiB,
     .steps = 20'000},
    {.name = "SmallOnly",
     .host = true,
     .poison = true,
     .granularity = 16 * kKiB,
     .budget = 64 * kKiB,
     .largest_block = 1500,
     .small_block_limit = 1024,
     .steps = 20'000},
    {.name = "LargePages",
     .host = true,
     .granularity = 2 * kMiB,
     .budget = 12 * kMiB,
     .largest_block = 5 * kMiB,
     .steps = 20'000},
};

INSTANTIATE_TEST_SUITE_P(Counting, RandomAllocatorTest,
                         testing::ValuesIn(kCounting), GeometryName);
INSTANTIATE_TEST_SUITE_P(Host, RandomAllocatorTest, testing::ValuesIn(kHost),
                         GeometryName);

}  // namespace
}  // namespace rekindle
