// SPDX-License-Identifier: Apache-2.0
// Virtual memory management as the fake driver has it: real bytes, and every
// rule of the documentation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "rekindle/device/cuda/driver_api.h"
#include "rekindle/device/host/extent_file.h"
#include "tests/device/cuda/fake_rules.h"

namespace rekindle::cuda {

// Device addresses are addresses of this process: inaccessible until mapped
// and until access is set. Handles are extents of one memfd. A handle may be
// mapped at several addresses, as a real driver allows. The first bytes of a
// fresh handle are junk: its contents are undefined. Thread-compatible.
//
// Rules: reserve-misaligned, reserve-flags, free-not-exact, free-while-mapped,
// create-misaligned, create-flags, create-properties, unknown-handle,
// double-release, map-offset, map-size, map-flags, map-misaligned,
// map-outside-reservation, map-on-mapped, unmap-misaligned, unmap-not-mapped,
// unmap-partial, access-misaligned, access-partly-mapped, access-description.
class FakeMemory {
 public:
  // All in bytes.
  FakeMemory(size_t total, size_t granularity, RuleBook& rules);
  ~FakeMemory();
  FakeMemory(const FakeMemory&) = delete;
  FakeMemory& operator=(const FakeMemory&) = delete;

  Result Reserve(DevicePointer* address, size_t bytes, size_t alignment,
                 unsigned long long flags);
  Result Free(DevicePointer address, size_t bytes);
  Result Create(AllocationHandle* handle, size_t bytes,
                const AllocationProperties* properties,
                unsigned long long flags);
  Result Release(AllocationHandle handle);
  Result Map(DevicePointer address, size_t bytes, size_t offset,
             AllocationHandle handle, unsigned long long flags);
  Result Unmap(DevicePointer address, size_t bytes);
  Result SetAccess(DevicePointer address, size_t bytes,
                   const AccessDescription* access, size_t count);

  // Memory that the program has of its own accord, as from cudaMalloc.
  DevicePointer AllocateForProgram(size_t bytes);

  // The rule that work on the range would break, empty if none: access-unknown
  // (no such memory), access-unmapped, access-not-set.
  std::string CheckAccess(DevicePointer address, size_t bytes) const;

  // How many mappings lie in the range, wholly or in part.
  int64_t CountMappings(DevicePointer address, size_t bytes) const;

  size_t total() const { return total_; }
  size_t free() const { return total_ - used_; }
  int64_t handles() const;  // not released yet
  int64_t reservations() const;
  int64_t mappings() const;

 private:
  struct Handle {
    size_t bytes = 0;
    uint64_t offset = 0;
    int mappings = 0;
    bool released = false;
  };
  struct Mapping {
    size_t bytes = 0;
    AllocationHandle handle = 0;
    bool accessible = false;
  };
  using Mappings = std::map<DevicePointer, Mapping>;

  bool Aligned(uint64_t value) const {
    return (value & (granularity_ - 1)) == 0;
  }
  Result Broken(const std::string& rule, const char* call,
                DevicePointer address, size_t bytes);
  bool Reserved(DevicePointer address, size_t bytes) const;
  // The first mapping that ends after `address`.
  Mappings::const_iterator FirstAfter(DevicePointer address) const;
  // Where the mapped run that holds `address` ends; `address` if none does.
  // `accessible`: counts only mappings with access.
  DevicePointer MappedUntil(DevicePointer address, bool accessible) const;
  void FreeIfUnused(AllocationHandle handle);

  const size_t total_;
  const size_t granularity_;
  RuleBook& rules_;
  const std::unique_ptr<ExtentFile> file_;
  size_t used_ = 0;
  AllocationHandle next_handle_ = 0x7001;
  std::map<AllocationHandle, Handle> handles_;
  std::map<DevicePointer, size_t> reservations_;
  std::map<DevicePointer, size_t> program_;
  Mappings mappings_;
};

}  // namespace rekindle::cuda
