// SPDX-License-Identifier: Apache-2.0
// A runtime on a small host device, and a few kernels on vectors of float.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rekindle/device/host/host_device.h"
#include "rekindle/rekindle.h"
#include "tests/base/status_matchers.h"

namespace rekindle {

using Floats = std::vector<float>;

class RuntimeTest : public ::testing::Test {
 protected:
  // Every vector takes one chunk of the device.
  static constexpr size_t kChunk = 4096;
  static constexpr int64_t kN = kChunk / sizeof(float);

  RuntimeTest() { Open(Budget::Unlimited()); }
  ~RuntimeTest() override {
    if (rt_ != nullptr) rt_->CheckInvariants();
  }

  static std::shared_ptr<Device> SmallDevice() {
    HostDeviceOptions options;
    options.capacity = 1024 * kChunk;
    options.granularity = kChunk;
    options.poison = true;
    return HostDevice::Open(options).value();
  }
  static RuntimeOptions Options(Budget budget) {
    RuntimeOptions options;
    options.budget = budget;
    options.custom_device = SmallDevice();
    options.snapshot_directory = "";
    options.pin_wait = std::chrono::milliseconds(50);
    return options;
  }
  // Starts over with a new device and runtime.
  void Open(Budget budget) { Open(Options(budget)); }
  void Open(RuntimeOptions options) {
    rt_ = Runtime::Create(std::move(options)).value();
  }
  static Budget Chunks(size_t n) { return Budget::Bytes(n * kChunk); }

  Tensor Make(const Floats& values, ConstantOptions options = {}) {
    return rt_->Constant(F32({static_cast<int64_t>(values.size())}),
                         values.data(), std::move(options));
  }
  // kN times `value`: one chunk.
  Tensor Full(float value, ConstantOptions options = {}) {
    return Make(Floats(kN, value), std::move(options));
  }

  // x + value
  Tensor Add(const Tensor& x, float value, const std::string& name = "add") {
    const int64_t n = x.elements();
    return rt_->Call({.name = name}, {x}, {x.spec()}, [=](KernelArgs& a) {
      for (int64_t i = 0; i < n; ++i) {
        a.output<float>(0)[i] = a.input<float>(0)[i] + value;
      }
      return absl::OkStatus();
    })[0];
  }
  // x += value
  void AddInPlace(const Tensor& x, float value) {
    rt_->Call({.name = "add_", .mutates = {0}}, {x}, {},
              InPlaceKernel(x.elements(), value));
  }
  static Kernel InPlaceKernel(int64_t n, float value) {
    return [=](KernelArgs& a) {
      for (int64_t i = 0; i < n; ++i) a.inout<float>(0)[i] += value;
      return absl::OkStatus();
    };
  }
  // The same call without inputs and a kernel that does `work`.
  template <typename Work>
  Tensor CallWith(Work work, CallOptions options = {}) {
    return rt_->Call(options, {}, {F32({1})}, [=](KernelArgs& a) {
      a.output<float>(0)[0] = 0;
      return work(a);
    })[0];
  }

  static Floats Values(const Tensor& tensor) {
    const absl::StatusOr<Floats> values = tensor.ToHost<float>();
    EXPECT_THAT(values, IsOk());
    return values.ok() ? *values : Floats();
  }
  // The value that all elements have; a failure if they differ.
  static float Value(const Tensor& tensor) {
    const Floats values = Values(tensor);
    if (values.empty()) return -1;
    EXPECT_EQ(values, Floats(values.size(), values[0]));
    return values[0];
  }

  std::unique_ptr<Runtime> rt_;
};

}  // namespace rekindle
