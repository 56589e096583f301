// SPDX-License-Identifier: Apache-2.0
// A device that only counts: what simulations run on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rekindle/base/units.h"
#include "rekindle/device/synchronous_device.h"

namespace rekindle {

// How far each verb moves the virtual clock.
struct LatencyModel {
  std::chrono::nanoseconds create{0};
  std::chrono::nanoseconds destroy{0};
  std::chrono::nanoseconds map_call{0};  // and what its chunks add
  std::chrono::nanoseconds map_chunk{0};
  std::chrono::nanoseconds unmap_call{0};
  std::chrono::nanoseconds unmap_chunk{0};
};

struct CountingDeviceOptions {
  // The most bytes that chunks may take; rounded down to `granularity`.
  size_t capacity = size_t{1} << 40;
  // A power of two, at least 256.
  size_t granularity = 2 * kMiB;
  LatencyModel latency = {};
};

// Keeps every rule of the contract but has no bytes: copies move nothing and
// reads give zeros. Memory and time are numbers, so terabytes and days fit in
// a test. Cost of a verb: well under a microsecond.
class CountingDevice : public SynchronousDevice {
 public:
  // Errors: InvalidArgument for an option out of range.
  static absl::StatusOr<std::unique_ptr<CountingDevice>> Open(
      const CountingDeviceOptions& options);

  // The virtual clock: starts at zero, moved by Advance and by the verbs.
  std::chrono::nanoseconds now() const;
  void Advance(std::chrono::nanoseconds time);

  std::string name() const override { return "counting"; }
  bool holds_bytes() const override { return false; }
  void MarkFree(DeviceAddress, size_t) override {}
  void MarkUsed(DeviceAddress, size_t) override {}

 protected:
  absl::StatusOr<DeviceAddress> DoReserve(size_t bytes) override;
  absl::Status DoRelease(DeviceAddress address, size_t bytes) override;
  absl::StatusOr<uint64_t> DoCreate(size_t bytes) override;
  void DoDestroy(Extent extent) override;
  absl::Status DoMap(DeviceAddress address,
                     absl::Span<const Extent> extents) override;
  absl::Status DoUnmap(DeviceAddress address, size_t bytes,
                       int64_t chunks) override;
  void DoCopy(DeviceAddress, DeviceAddress, size_t) override {}
  void DoCopyFromHost(DeviceAddress, const void*, size_t) override {}
  void DoCopyToHost(void* to, DeviceAddress from, size_t bytes) override;
  void DoFill(DeviceAddress, uint8_t, size_t) override {}

 private:
  explicit CountingDevice(const CountingDeviceOptions& options)
      : SynchronousDevice(options.capacity, options.granularity),
        latency_(options.latency),
        next_address_(options.granularity) {}

  const LatencyModel latency_;
  DeviceAddress next_address_;  // addresses are never used again
  std::atomic<int64_t> now_{0};
};

}  // namespace rekindle
