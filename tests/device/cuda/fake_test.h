// SPDX-License-Identifier: Apache-2.0
// The fake driver in tests: what must hold when one ends.
#pragma once

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "rekindle/base/log.h"
#include "rekindle/device/cuda/cuda_device.h"
#include "rekindle/device/fault_injecting_device.h"
#include "tests/device/cuda/fake_driver.h"

namespace rekindle::cuda {

inline void PrintTo(const Violation& violation, std::ostream* out) {
  *out << violation.rule << ": " << violation.detail;
}

// Fails the test for each breach of a rule that nobody took.
inline void ExpectNoViolations(const FakeDriver& driver) {
  for (const Violation& violation : driver.violations()) {
    ADD_FAILURE() << "rule " << violation.rule << ": " << violation.detail;
  }
}

// Fails the test if anything is still alive.
inline void ExpectNoLeaks(const FakeDriver& driver) {
  EXPECT_TRUE(driver.leaks().none()) << driver.leaks().ToString();
}

// A CudaDevice with a fake driver of its own; its end fails the test for any
// breach or leak.
class FakeCudaDevice : public FaultInjectingDevice {
 public:
  static std::unique_ptr<FakeCudaDevice> Open(FakeDriverOptions options,
                                              Log log = Log()) {
    auto driver = std::make_unique<FakeDriver>(std::move(options));
    auto device = CudaDevice::Open(0, driver->source(), log).value();
    return std::unique_ptr<FakeCudaDevice>(
        new FakeCudaDevice(std::move(driver), std::move(device)));
  }

  ~FakeCudaDevice() override {
    device_->CheckInvariants();
    device_.reset();
    ExpectNoViolations(*driver_);
    ExpectNoLeaks(*driver_);
  }

  FakeDriver& driver() { return *driver_; }
  CudaDevice& cuda() { return *device_; }

 private:
  FakeCudaDevice(std::unique_ptr<FakeDriver> driver,
                 std::unique_ptr<CudaDevice> device)
      : FaultInjectingDevice(*device),
        driver_(std::move(driver)),
        device_(std::move(device)) {}

  const std::unique_ptr<FakeDriver> driver_;
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace rekindle::cuda
