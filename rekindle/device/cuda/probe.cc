// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/cuda/probe.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/device/cuda/driver_error.h"

namespace rekindle::cuda {
namespace {

absl::StatusOr<int> Attribute(const DriverApi& api, DeviceAttribute attribute,
                              DeviceOrdinal device) {
  int value = 0;
  RK_RETURN_IF_ERROR(
      ToStatus(api.cuDeviceGetAttribute(&value, attribute, device),
               "cuDeviceGetAttribute"));
  return value;
}

Problem CallFailed(const absl::Status& status) {
  return {Problem::Kind::kDriverFailed, std::string(status.message()),
          "check that nvidia-smi works"};
}

// The first device's problem stands for all, if none can be opened.
Problem ProblemOfAll(const std::vector<GpuInfo>& devices) {
  for (const GpuInfo& gpu : devices) {
    if (ProblemOf(gpu).none()) return {};
  }
  return devices.empty() ? NoDevice() : ProblemOf(devices.front());
}

absl::Status InspectAll(const DriverApi& api, std::vector<GpuInfo>& devices) {
  RK_ASSIGN_OR_RETURN(const int count, CountDevices(api));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    RK_ASSIGN_OR_RETURN(GpuInfo gpu, Inspect(api, ordinal));
    devices.push_back(std::move(gpu));
  }
  return absl::OkStatus();
}

}  // namespace

Probe ProbeCuda(const DriverSource& source) {
  const LoadedDriver driver = LoadDriver(source);
  Probe probe;
  probe.driver_version = driver.version;
  probe.problem = driver.problem;
  if (!probe.problem.none()) return probe;
  const absl::Status status = InspectAll(driver.api, probe.devices);
  probe.problem =
      status.ok() ? ProblemOfAll(probe.devices) : CallFailed(status);
  return probe;
}

AllocationProperties DeviceMemory(DeviceOrdinal device) {
  AllocationProperties properties;
  properties.type = AllocationType::kPinned;
  properties.location = {LocationType::kDevice, device};
  return properties;
}

absl::StatusOr<int> CountDevices(const DriverApi& api) {
  int count = 0;
  const Result result = api.cuDeviceGetCount(&count);
  if (result == Result::kNoDevice) return 0;
  RK_RETURN_IF_ERROR(ToStatus(result, "cuDeviceGetCount"));
  return count;
}

absl::StatusOr<GpuInfo> Inspect(const DriverApi& api, int ordinal) {
  GpuInfo gpu;
  gpu.ordinal = ordinal;
  RK_RETURN_IF_ERROR(
      ToStatus(api.cuDeviceGet(&gpu.device, ordinal), "cuDeviceGet"));
  const DeviceOrdinal device = gpu.device;
  std::array<char, 256> name = {};
  RK_RETURN_IF_ERROR(
      ToStatus(api.cuDeviceGetName(name.data(),
                                   static_cast<int>(name.size() - 1), device),
               "cuDeviceGetName"));
  gpu.name = name.data();
  RK_RETURN_IF_ERROR(
      ToStatus(api.cuDeviceTotalMem(&gpu.memory, device), "cuDeviceTotalMem"));
  RK_ASSIGN_OR_RETURN(
      gpu.compute_major,
      Attribute(api, DeviceAttribute::kComputeCapabilityMajor, device));
  RK_ASSIGN_OR_RETURN(
      gpu.compute_minor,
      Attribute(api, DeviceAttribute::kComputeCapabilityMinor, device));
  RK_ASSIGN_OR_RETURN(
      const int maps,
      Attribute(api, DeviceAttribute::kVirtualMemoryManagement, device));
  gpu.maps_memory = maps != 0;
  if (!gpu.maps_memory) return gpu;
  const AllocationProperties properties = DeviceMemory(device);
  RK_RETURN_IF_ERROR(
      ToStatus(api.cuMemGetAllocationGranularity(&gpu.granularity, &properties,
                                                 Granularity::kMinimum),
               "cuMemGetAllocationGranularity"));
  return gpu;
}

Problem ProblemOf(const GpuInfo& gpu) {
  if (gpu.maps_memory) return {};
  return {Problem::Kind::kNoVirtualMemory,
          absl::StrCat("cuda:", gpu.ordinal, " (", gpu.name, ", compute ",
                       gpu.compute_major, ".", gpu.compute_minor,
                       ") has no virtual memory management"),
          "use another GPU"};
}

Problem NoSuchDevice(int ordinal, int count) {
  if (count == 0) return NoDevice();
  return {Problem::Kind::kOutOfRange,
          absl::StrCat("there is no cuda:", ordinal, ": the driver sees ",
                       count, count == 1 ? " device" : " devices"),
          absl::StrCat("choose one from cuda:0 to cuda:", count - 1)};
}

}  // namespace rekindle::cuda
