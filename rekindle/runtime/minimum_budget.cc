// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/minimum_budget.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/engine/engine.h"
#include "rekindle/engine/replay.h"

namespace rekindle::internal {
namespace {

constexpr size_t kUnlimited = size_t{1} << 44;

// An engine on a device that counts.
struct Simulation {
  std::unique_ptr<CountingDevice> device;
  std::unique_ptr<Allocator> allocator;
  std::unique_ptr<Engine> engine;
};

absl::StatusOr<Simulation> MakeSimulation(const ReplayOptions& options,
                                          size_t budget) {
  Simulation simulation;
  CountingDeviceOptions device_options;
  device_options.capacity = kUnlimited;
  device_options.granularity = options.granularity;
  RK_ASSIGN_OR_RETURN(simulation.device, CountingDevice::Open(device_options));
  VmmAllocatorOptions allocator_options;
  allocator_options.budget = budget;
  allocator_options.chunk_bytes = options.chunk_bytes;
  RK_ASSIGN_OR_RETURN(
      simulation.allocator,
      VmmAllocator::Create(*simulation.device, allocator_options));
  RK_ASSIGN_OR_RETURN(std::unique_ptr<Policy> policy,
                      options.policies.Make(options.policy));
  simulation.engine = std::make_unique<Engine>(
      *simulation.device, *simulation.allocator, std::move(policy));
  return simulation;
}

// What no budget can be below, and what is always enough.
struct Bounds {
  size_t constants = 0;  // the most that the allocator's constants ever take
  size_t peak = 0;
  double cost = 0;  // of all calls
};

absl::StatusOr<Bounds> FindBounds(const Step& step,
                                  const ReplayOptions& options,
                                  absl::FunctionRef<bool()> in_time) {
  RK_ASSIGN_OR_RETURN(const Simulation simulation,
                      MakeSimulation(options, kUnlimited));
  Bounds bounds;
  RK_RETURN_IF_ERROR(Replay(step, *simulation.engine, [&] {
    const EngineStats stats = simulation.engine->stats();
    bounds.constants =
        std::max(bounds.constants,
                 std::accumulate(stats.constant_bytes.begin(),
                                 stats.constant_bytes.end(), size_t{0}));
    return in_time();
  }));
  bounds.cost = simulation.engine->stats().call_cost;
  bounds.peak = simulation.allocator->stats().peak_physical_bytes;
  return bounds;
}

absl::Status ReplayAt(size_t budget, const Step& step,
                      const ReplayOptions& options,
                      absl::FunctionRef<bool(const EngineStats&)> go_on) {
  RK_ASSIGN_OR_RETURN(const Simulation simulation,
                      MakeSimulation(options, budget));
  return Replay(step, *simulation.engine,
                [&] { return go_on(simulation.engine->stats()); });
}

}  // namespace

absl::StatusOr<size_t> SmallestBudget(
    const Step& step, const ReplayOptions& options,
    std::chrono::steady_clock::time_point deadline) {
  const auto in_time = [deadline] {
    return std::chrono::steady_clock::now() < deadline;
  };
  const absl::StatusOr<Bounds> bounds = FindBounds(step, options, in_time);
  if (!in_time()) return absl::CancelledError("no budget found in time");
  if (!bounds.ok()) {
    return absl::InternalError(absl::StrCat(
        "the recorded step does not repeat: ", bounds.status().message()));
  }
  const auto go_on = [&](const EngineStats& stats) {
    return in_time() &&
           stats.recompute_cost <= kMostRecomputation * bounds->cost;
  };
  const size_t chunk = std::max(options.chunk_bytes, options.granularity);
  const size_t rise = RoundUp(std::max<size_t>(bounds->peak / 100, 1), chunk);
  for (size_t budget = RoundUp(std::max(bounds->constants, chunk), chunk);
       budget < bounds->peak; budget += rise) {
    if (ReplayAt(budget, step, options, go_on).ok()) return budget;
    if (!in_time()) return absl::CancelledError("no budget found in time");
  }
  return bounds->peak;
}

}  // namespace rekindle::internal
