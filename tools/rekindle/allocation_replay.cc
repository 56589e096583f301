// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/allocation_replay.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/allocator/bfc_allocator.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/device/counting/counting_device.h"

namespace rekindle::tools {
namespace {

// The device keeps a record of each chunk.
constexpr size_t kMostChunks = size_t{1} << 22;

absl::StatusOr<std::unique_ptr<Device>> OpenDevice(
    const AllocationTrace& trace, const ReplayOptions& options) {
  if (options.granularity == 0) {
    return absl::InvalidArgumentError("chunks of 0 bytes");
  }
  if (trace.peak_live_bytes / options.granularity > kMostChunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunks of ", FormatBytes(options.granularity),
                     " are too small for ", FormatBytes(trace.peak_live_bytes),
                     " of live blocks: at most ", kMostChunks));
  }
  CountingDeviceOptions device;
  device.capacity = std::max(options.budget, options.granularity);
  device.granularity = options.granularity;
  return CountingDevice::Open(device);
}

absl::StatusOr<std::unique_ptr<Allocator>> OpenAllocator(
    Device& device, const ReplayOptions& options) {
  if (options.allocator == ReplayAllocator::kBfc) {
    return BfcAllocator::Create(device, {.budget = options.budget});
  }
  return VmmAllocator::Create(device, {.budget = options.budget});
}

int64_t VmmCalls(const Device& device) {
  const DeviceCounters counters = device.counters();
  return counters.create + counters.destroy + counters.map + counters.unmap;
}

// The blocks of a trace on an allocator.
class Player {
 public:
  Player(const AllocationTrace& trace, Allocator& allocator)
      : trace_(trace),
        allocator_(allocator),
        blocks_(trace.block_bytes.size()) {}

  // One pass over the trace. The index of the operation that did not fit, or
  // nullopt.
  absl::StatusOr<std::optional<size_t>> Play() {
    for (size_t i = 0; i < trace_.operations.size(); ++i) {
      const auto [allocates, block] = trace_.operations[i];
      if (!allocates) {
        allocator_.Free(*blocks_[block]);
        blocks_[block].reset();
        continue;
      }
      RK_ASSIGN_OR_RETURN(blocks_[block],
                          allocator_.Allocate(trace_.block_bytes[block]));
      if (!blocks_[block].has_value()) return i;
    }
    return std::nullopt;
  }

  void FreeSurvivors() {
    for (std::optional<Block>& block : blocks_) {
      if (block.has_value()) allocator_.Free(*block);
      block.reset();
    }
  }

 private:
  const AllocationTrace& trace_;
  Allocator& allocator_;
  std::vector<std::optional<Block>> blocks_;
};

std::string Misfit(const AllocationTrace& trace, size_t operation, int pass,
                   const Allocator& allocator, size_t granularity) {
  const size_t bytes = trace.block_bytes[trace.operations[operation].block];
  const AllocatorStats stats = allocator.stats();
  std::string text = absl::StrCat(
      "pass ", pass, ", operation ", operation + 1, ": ", FormatBytes(bytes),
      " do not fit: budget ", FormatBytes(stats.budget), ", live blocks ",
      FormatBytes(stats.requested_bytes), " on ",
      FormatBytes(stats.live_physical_bytes));
  absl::StrAppend(&text, ", in chunks of ", FormatBytes(granularity));
  if (stats.budget < granularity) {
    absl::StrAppend(&text, ", of which the budget holds none");
  }
  return text;
}

}  // namespace

absl::StatusOr<ReplayResult> Replay(const AllocationTrace& trace,
                                    const ReplayOptions& options) {
  RK_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device,
                      OpenDevice(trace, options));
  RK_ASSIGN_OR_RETURN(const std::unique_ptr<Allocator> allocator,
                      OpenAllocator(*device, options));
  Player player(trace, *allocator);
  ReplayResult result;
  std::chrono::duration<double, std::nano> time{0};
  for (int pass = 1; pass <= options.passes && result.completed(); ++pass) {
    const int64_t calls = VmmCalls(*device);
    const auto start = std::chrono::steady_clock::now();
    RK_ASSIGN_OR_RETURN(const std::optional<size_t> misfit, player.Play());
    time += std::chrono::steady_clock::now() - start;
    if (misfit.has_value()) {
      result.failure =
          Misfit(trace, *misfit, pass, *allocator, options.granularity);
    } else {
      result.vmm_calls.push_back(VmmCalls(*device) - calls);
    }
    player.FreeSurvivors();
  }
  const double operations = static_cast<double>(trace.operations.size()) *
                            static_cast<double>(result.vmm_calls.size());
  if (operations > 0) result.ns_per_operation = time.count() / operations;
  result.peak_physical_bytes = device->memory_info().peak_created;
  return result;
}

}  // namespace rekindle::tools
