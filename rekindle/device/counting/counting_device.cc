// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/counting/counting_device.h"

#include <cstring>
#include <limits>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"

namespace rekindle {

absl::StatusOr<std::unique_ptr<CountingDevice>> CountingDevice::Open(
    const CountingDeviceOptions& options) {
  const size_t granularity = options.granularity;
  if (granularity < 256 || (granularity & (granularity - 1)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "granularity ", granularity, " is not a power of two of at least 256"));
  }
  CountingDeviceOptions rounded = options;
  rounded.capacity = RoundDown(rounded.capacity, granularity);
  if (rounded.capacity == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("capacity ", options.capacity,
                     " is less than one chunk of ", granularity));
  }
  return absl::WrapUnique(new CountingDevice(rounded));
}

std::chrono::nanoseconds CountingDevice::now() const {
  return std::chrono::nanoseconds(now_.load(std::memory_order_relaxed));
}

void CountingDevice::Advance(std::chrono::nanoseconds time) {
  now_.fetch_add(time.count(), std::memory_order_relaxed);
}

absl::StatusOr<DeviceAddress> CountingDevice::DoReserve(size_t bytes) {
  if (bytes > std::numeric_limits<DeviceAddress>::max() - next_address_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no address range has ", bytes, " bytes left"));
  }
  const DeviceAddress address = next_address_;
  next_address_ += bytes;
  return address;
}

absl::Status CountingDevice::DoRelease(DeviceAddress, size_t) {
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CountingDevice::DoCreate(size_t) {
  Advance(latency_.create);
  return 0;
}

void CountingDevice::DoDestroy(Extent) { Advance(latency_.destroy); }

absl::Status CountingDevice::DoMap(DeviceAddress,
                                   absl::Span<const Extent> extents) {
  Advance(latency_.map_call +
          latency_.map_chunk * static_cast<int64_t>(extents.size()));
  return absl::OkStatus();
}

absl::Status CountingDevice::DoUnmap(DeviceAddress, size_t, int64_t chunks) {
  Advance(latency_.unmap_call + latency_.unmap_chunk * chunks);
  return absl::OkStatus();
}

void CountingDevice::DoCopyToHost(void* to, DeviceAddress, size_t bytes) {
  if (bytes > 0) std::memset(to, 0, bytes);
}

}  // namespace rekindle
