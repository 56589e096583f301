// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_check/pressure.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {
namespace {

class Pressure {
 public:
  Pressure(Device& device, Allocator& allocator, const PressureOptions& options)
      : device_(device),
        allocator_(allocator),
        options_(options),
        random_(options.seed) {}

  absl::StatusOr<PressureResult> Run() {
    for (int i = 0; i < options_.operations; ++i) {
      RK_RETURN_IF_ERROR(Step());
      const size_t peak = device_.memory_info().peak_created;
      if (peak > options_.budget) {
        return absl::InternalError(
            absl::StrCat("the device holds ", peak,
                         " bytes, more than the budget of ", options_.budget));
      }
    }
    while (!blocks_.empty()) RK_RETURN_IF_ERROR(End(0));
    allocator_.CheckInvariants();
    result_.vmm_calls = allocator_.stats().vmm_calls;
    result_.peak_physical_bytes = device_.memory_info().peak_created;
    return result_;
  }

 private:
  struct Filled {
    Block block;
    uint8_t value;
  };

  // Sizes spread over all orders of magnitude, up to an eighth of the budget.
  size_t RandomSize() {
    std::uniform_real_distribution<double> exponent(
        4, std::log2(static_cast<double>(options_.budget) / 8));
    return static_cast<size_t>(std::exp2(exponent(random_)));
  }

  size_t RandomIndex() {
    return std::uniform_int_distribution<size_t>(0,
                                                 blocks_.size() - 1)(random_);
  }

  absl::Status Step() {
    const size_t bytes = RandomSize();
    while (true) {
      RK_ASSIGN_OR_RETURN(const std::optional<Block> block,
                          allocator_.Allocate(bytes));
      if (block.has_value()) return Begin(*block);
      if (blocks_.empty()) {
        return absl::InternalError(absl::StrCat(
            bytes, " bytes do not fit an empty budget of ", options_.budget));
      }
      RK_RETURN_IF_ERROR(End(RandomIndex()));
    }
  }

  absl::Status Begin(Block block) {
    ++result_.allocations;
    const auto value = static_cast<uint8_t>(random_());
    RK_RETURN_IF_ERROR(
        device_.Fill(block.address, value, block.bytes, Stream{}));
    blocks_.push_back({block, value});
    return absl::OkStatus();
  }

  // Compares the bytes of a block and frees it.
  absl::Status End(size_t index) {
    const Filled filled = blocks_[index];
    blocks_[index] = blocks_.back();
    blocks_.pop_back();
    std::vector<uint8_t> bytes(filled.block.bytes);
    RK_RETURN_IF_ERROR(device_.CopyToHost(bytes.data(), filled.block.address,
                                          bytes.size(), Stream{}));
    const auto changed =
        std::find_if(bytes.begin(), bytes.end(),
                     [&](uint8_t byte) { return byte != filled.value; });
    if (changed != bytes.end()) {
      return absl::InternalError(absl::StrCat("a block of ", bytes.size(),
                                              " bytes changed at byte ",
                                              changed - bytes.begin()));
    }
    ++result_.verified;
    allocator_.Free(filled.block);
    return absl::OkStatus();
  }

  Device& device_;
  Allocator& allocator_;
  const PressureOptions options_;
  std::mt19937_64 random_;
  std::vector<Filled> blocks_;
  PressureResult result_;
};

}  // namespace

absl::StatusOr<PressureResult> RunUnderPressure(
    Device& device, const PressureOptions& options) {
  VmmAllocatorOptions allocator_options;
  allocator_options.budget = options.budget;
  allocator_options.chunk_bytes = options.chunk_bytes;
  RK_ASSIGN_OR_RETURN(const std::unique_ptr<VmmAllocator> allocator,
                      VmmAllocator::Create(device, allocator_options));
  return Pressure(device, *allocator, options).Run();
}

}  // namespace rekindle
