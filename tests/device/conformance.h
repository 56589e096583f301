// SPDX-License-Identifier: Apache-2.0
// The suite that every Device backend must pass. A backend joins by
//   INSTANTIATE_TEST_SUITE_P(Name, DeviceConformance, testing::Values(...),
//                            DeviceCaseName);
// in a file of its own that is linked with the conformance_*test.cc files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/device/device.h"

namespace rekindle {

// One backend in one geometry. The suite needs a capacity of 8 granules, and
// checks the upper limit only if `capacity` (in bytes) is not 0.
struct DeviceCase {
  std::string name;
  size_t capacity = 0;
  std::function<std::unique_ptr<Device>()> open;
};

inline void PrintTo(const DeviceCase& device_case, std::ostream* out) {
  *out << device_case.name;
}

inline std::string DeviceCaseName(
    const testing::TestParamInfo<DeviceCase>& info) {
  return info.param.name;
}

// Whether every byte of the range reads as `value`, or, on a device that holds
// no bytes, as 0.
testing::AssertionResult Holds(Device& device, DeviceAddress address,
                               size_t bytes, uint8_t value);

class DeviceConformance : public testing::TestWithParam<DeviceCase> {
 protected:
  DeviceConformance()
      : device_(GetParam().open()), unit_(device_->granularity()) {}

  // Each aborts the test program if the device refuses.
  DeviceAddress Reserve(size_t units) {
    return device_->Reserve(units * unit_).value();
  }
  ChunkId Create(size_t units) {
    return device_->Create(units * unit_).value();
  }
  // `count` new chunks of one unit each.
  std::vector<ChunkId> CreateMany(size_t count);

  // A reservation of `units` with a chunk behind each unit.
  DeviceAddress Ready(size_t units);

  // Fills on the default stream and waits, so that the range may be unmapped.
  void Fill(DeviceAddress address, size_t bytes, uint8_t value);

  testing::AssertionResult Holds(DeviceAddress address, size_t bytes,
                                 uint8_t value) {
    return rekindle::Holds(*device_, address, bytes, value);
  }

  const std::unique_ptr<Device> device_;
  const size_t unit_;
};

}  // namespace rekindle
