// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rekindle/device/fault_injecting_device.h"
#include "rekindle/device/host/host_device.h"
#include "tests/device/cuda/fake_test.h"
#include "tests/programs/behaviour.h"
#include "tests/programs/program.h"

namespace rekindle::programs {

// Which run of a kernel is to fail, counted from 1; 0: none.
struct KernelFault {
  int64_t at = 0;
  bool throws = false;
};

// The device that a program runs on and the kernels that run there.
class ProgramDevice {
 public:
  static constexpr size_t kCapacity = size_t{2} << 20;

  struct Range {
    DeviceAddress address = 0;
    size_t bytes = 0;
  };
  // What one run of a kernel is given.
  struct KernelRun {
    std::vector<DeviceAddress> inputs;
    std::vector<DeviceAddress> outputs;
    DeviceAddress workspace = 0;
    size_t workspace_bytes = 0;
    PhiloxDraw draw;
    Stream stream;
  };

  ProgramDevice(DeviceKind kind, uint64_t seed);

  // Faults can be asked for here.
  FaultInjectingDevice& device() { return *device_; }
  std::shared_ptr<FaultInjectingDevice> shared() { return device_; }
  // Null on the host.
  cuda::FakeDriver* driver();

  // Fills outputs and workspace with rubbish and applies the behaviour; or
  // fails, as told by FailKernel, when there is rubbish in the outputs.
  absl::Status RunKernel(const Behaviour& behaviour, const KernelRun& run);
  void FailKernel(KernelFault fault) { kernel_fault_ = fault; }
  int64_t kernel_runs() const { return kernel_runs_; }
  // A fault of any kind has happened.
  bool failed() const;
  std::string last_failed_driver_call() const;

  // Copies the words to the address, or compares them with what is there, when
  // the stream comes to it. `what` says what is compared.
  absl::Status Put(Stream stream, DeviceAddress to, Words words);
  absl::Status Compare(Stream stream, DeviceAddress from, Words words,
                       std::string what);

  // The same with words of host memory, at once.
  void Compare(const Words& found, const Words& words, const std::string& what);

  // Lets some of the queued work run, or all.
  void RunSome(size_t most);
  void RunAll();
  // What was found wrong so far: a comparison, or a rule of the driver; empty
  // if nothing was.
  std::string wrong() const;

 private:
  absl::Status Launch(Stream stream, std::vector<Range> ranges,
                      std::function<void()> work);

  std::unique_ptr<HostDevice> host_;
  std::shared_ptr<FaultInjectingDevice> device_;
  cuda::FakeCudaDevice* fake_ = nullptr;  // device_, if it is one
  int64_t kernel_runs_ = 0;
  KernelFault kernel_fault_;
  std::string wrong_;
};

}  // namespace rekindle::programs
