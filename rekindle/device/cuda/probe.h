// SPDX-License-Identifier: Apache-2.0
// What CUDA there is on this machine, for people to read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rekindle/device/cuda/driver_api.h"
#include "rekindle/device/cuda/driver_loader.h"

namespace rekindle::cuda {

struct GpuInfo {
  int ordinal = 0;           // as the CUDA runtime counts
  DeviceOrdinal device = 0;  // as the driver names it
  std::string name;
  size_t memory = 0;  // in bytes
  int compute_major = 0;
  int compute_minor = 0;
  bool maps_memory = false;  // has virtual memory management
  size_t granularity = 0;    // in bytes; 0 if it does not map memory
};

// `problem` is why no device can be opened, or kNone if one can; what was
// found before the problem is filled in.
struct Probe {
  int driver_version = 0;  // 12040 is CUDA 12.4; 0 if not known
  std::vector<GpuInfo> devices;
  Problem problem;
};

// Loads the driver and asks; makes no context and takes no device memory.
Probe ProbeCuda(const DriverSource& source);

// The allocations that the backend makes on `device`: memory of the device
// itself that is never shared with another process.
AllocationProperties DeviceMemory(DeviceOrdinal device);

// The number of devices; 0 is a success.
absl::StatusOr<int> CountDevices(const DriverApi& api);

// REQUIRES: 0 <= ordinal < CountDevices().
absl::StatusOr<GpuInfo> Inspect(const DriverApi& api, int ordinal);

// Why the device cannot be opened, or kNone.
Problem ProblemOf(const GpuInfo& gpu);
// The same for an ordinal that is not among `count` devices.
Problem NoSuchDevice(int ordinal, int count);

}  // namespace rekindle::cuda
