// SPDX-License-Identifier: Apache-2.0
// The host and the counting device in the conformance suite.
#include "absl/strings/str_cat.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/fault_injecting_device.h"
#include "rekindle/device/host/host_device.h"
#include "tests/device/conformance.h"

namespace rekindle {
namespace {

DeviceCase Host(size_t granularity, size_t capacity, bool poison = false) {
  return {absl::StrCat("Host", granularity / kKiB, "KiB", capacity / kMiB,
                       "MiB", poison ? "Poison" : ""),
          capacity, [=]() -> std::unique_ptr<Device> {
            return HostDevice::Open({.capacity = capacity,
                                     .granularity = granularity,
                                     .poison = poison})
                .value();
          }};
}

DeviceCase Counting(size_t granularity, size_t capacity) {
  return {absl::StrCat("Counting", granularity, "B", capacity / kMiB, "MiB"),
          capacity, [=]() -> std::unique_ptr<Device> {
            return CountingDevice::Open(
                       {.capacity = capacity, .granularity = granularity})
                .value();
          }};
}

// A device that forwards to one of its own.
class OwningDecorator : public FaultInjectingDevice {
 public:
  explicit OwningDecorator(std::unique_ptr<Device> device)
      : FaultInjectingDevice(*device), device_(std::move(device)) {}

 private:
  const std::unique_ptr<Device> device_;
};

DeviceCase Decorated(const DeviceCase& inner) {
  return {absl::StrCat("Decorated", inner.name), inner.capacity,
          [open = inner.open]() -> std::unique_ptr<Device> {
            return std::make_unique<OwningDecorator>(open());
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Host, DeviceConformance,
    testing::Values(Host(4 * kKiB, kMiB), Host(4 * kKiB, 64 * kGiB),
                    Host(64 * kKiB, kMiB), Host(64 * kKiB, 64 * kGiB),
                    Host(64 * kKiB, kMiB, /*poison=*/true),
                    Host(2 * kMiB, 16 * kMiB), Host(2 * kMiB, 64 * kGiB)),
    DeviceCaseName);

INSTANTIATE_TEST_SUITE_P(Counting, DeviceConformance,
                         testing::Values(Counting(256, kMiB),
                                         Counting(64 * kKiB, kMiB),
                                         Counting(2 * kMiB, kGiB * 8 * kKiB)),
                         DeviceCaseName);

INSTANTIATE_TEST_SUITE_P(Decorated, DeviceConformance,
                         testing::Values(Decorated(Host(64 * kKiB, kMiB))),
                         DeviceCaseName);

}  // namespace
}  // namespace rekindle
