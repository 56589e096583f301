// SPDX-License-Identifier: Apache-2.0
// Random requests to an allocator, against a model that only lists the blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/device/device.h"

namespace rekindle {

struct WorkloadOptions {
  size_t largest_block = 0;
  // One in so many steps changes the budget or trims. 0: none does.
  int budget_change_every = 0;
  // Whether device calls may fail: then memory can stay above a lowered budget.
  bool device_fails = false;
  // One in so many steps compacts. 0: none does.
  int compact_every = 0;
};

// Each step allocates or frees and checks what the contract promises:
//   * blocks are aligned and do not overlap, and keep what is written to them;
//   * the device never holds more than the budget (after a lowered budget: or
//     what live blocks need);
//   * live memory is no more than the worst cases of the live blocks, and a
//     request whose worst case fits does fit;
//   * a request that does not fit changes no live memory.
// A broken promise is a test failure. The first device error ends the run.
class RandomWorkload {
 public:
  RandomWorkload(Device& device, Allocator& allocator, uint64_t seed,
                 const WorkloadOptions& options);

  // Does `steps` steps; the device's error, if there was one.
  absl::Status Run(int steps);

  // Frees a random block, if there is one.
  void FreeOne();

  // Frees every block.
  void FreeAll();

  int64_t misses() const { return misses_; }  // requests that did not fit

 private:
  class Mover;
  struct LiveBlock {
    Block block;
    uint8_t content;
  };

  absl::Status Step();
  void Free(size_t index);
  absl::Status LeaveSparsePages();
  absl::Status Allocate(size_t bytes);
  absl::Status ChangeBudget();
  absl::Status Compact();
  void Add(Block block);
  void ExpectFree(Block block);
  bool Holds(Block block, uint8_t content);
  void CheckBudget();
  void CheckAgainst(const AllocatorStats& before);
  size_t Draw(size_t bound) { return random_() % bound; }
  size_t DrawSize();

  Device& device_;
  Allocator& allocator_;
  const WorkloadOptions options_;
  const size_t largest_budget_;
  std::mt19937_64 random_;
  std::vector<LiveBlock> live_;
  std::map<DeviceAddress, DeviceAddress> taken_;  // begin -> end
  size_t worst_case_ = 0;                         // of all live blocks
  size_t requested_ = 0;
  int64_t misses_ = 0;
};

}  // namespace rekindle
