// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/fault_injecting_device.h"

namespace rekindle {

inline constexpr size_t kChunk = 64 * kKiB;

// An allocator of eight chunks on a device that counts.
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

}  // namespace rekindle
