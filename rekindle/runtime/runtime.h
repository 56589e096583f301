// SPDX-License-Identifier: Apache-2.0
// The public door: a runtime that keeps a program's tensors under a budget.
//
//   auto rt = Runtime::Create(*RuntimeOptions::FromEnvironment()).value();
//   Tensor w = rt->Constant(F32({n}), values, {.name = "w"});
//   Tensor y = rt->Call({.name = "double"}, {w}, {F32({n})},
//                       [n](KernelArgs& a) { ... return status; })[0];
//   std::vector<float> out = *y.ToHost<float>();
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/types.h"
#include "rekindle/runtime/kernel.h"
#include "rekindle/runtime/options.h"
#include "rekindle/runtime/site.h"
#include "rekindle/runtime/spec.h"
#include "rekindle/runtime/stats.h"
#include "rekindle/runtime/tensor.h"

namespace rekindle {

struct ConstantOptions {
  std::string name = "constant";
  Kind kind = Kind::kOther;
};

// Thread-safe. One device. Calls run in the order in which they are made.
class Runtime {
 public:
  // Opens the device and reserves addresses; takes no memory yet.
  // Errors: InvalidArgument for a bad option, Unavailable for a device that
  // this machine or this build does not have.
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(
      RuntimeOptions options = {});
  // Tensors may outlive it.
  ~Runtime();

  // A value that is always resident: copied from `host` (spec.bytes() bytes),
  // or zeros if `host` is null. The host memory may be used again on return.
  Tensor Constant(const Spec& spec, const void* host,
                  ConstantOptions options = {}, Site site = Site::Current());

  // As Constant, on memory of the device that the program owns; it is not
  // copied, does not count against the budget, and `deleter` runs when nothing
  // needs it any more.
  Tensor Adopt(const Spec& spec, DeviceAddress address,
               std::function<void()> deleter, ConstantOptions options = {},
               Site site = Site::Current());

  // Runs `kernel` on `inputs` and returns its outputs, one a spec. If it
  // cannot run, the outputs carry the error and no value has changed. Evicts
  // and recomputes whatever it must to stay under the budget.
  std::vector<Tensor> Call(const CallOptions& options,
                           absl::Span<const Tensor> inputs,
                           absl::Span<const Spec> outputs, Kernel kernel,
                           Site site = Site::Current());
  std::vector<Tensor> Call(const CallOptions& options,
                           std::initializer_list<Tensor> inputs,
                           std::initializer_list<Spec> outputs, Kernel kernel,
                           Site site = Site::Current());

  // The same for programs that look at each error where it happens, also that
  // of a call without outputs: the error itself, and not tensors that carry it.
  absl::StatusOr<std::vector<Tensor>> TryCall(const CallOptions& options,
                                              absl::Span<const Tensor> inputs,
                                              absl::Span<const Spec> outputs,
                                              Kernel kernel,
                                              Site site = Site::Current());

  // Marks the start of a training step. What is still referenced becomes
  // constant (carried states, running sums), so no step remembers the one
  // before. Returns the first error of the step before, once.
  absl::Status BeginStep(Site site = Site::Current());

  // Changes the budget, in bytes. What is cached or can be given up goes at
  // once; while pins hold more than that, the rest goes as they end.
  absl::Status SetBudget(size_t bytes);

  // A stream of the device, for CallOptions::stream and Tensor::Read. It is
  // destroyed with DestroyStream, which waits for its work, or never.
  absl::StatusOr<Stream> CreateStream();
  // Errors: FailedPrecondition while a guard on it lives; of the device.
  absl::Status DestroyStream(Stream stream);
  // To be called when the program has destroyed a stream of its own that calls
  // or guards named, after its work was done and before another stream is
  // created. Errors: as DestroyStream.
  absl::Status StreamEnded(Stream stream);

  RuntimeStats Stats() const;

  // Writes which storage lies where, and the last events
  // (RuntimeOptions::memory_events), to a file for PyTorch's memory viewer:
  // https://pytorch.org/memory_viz, or torch/cuda/_memory_viz.py. Errors:
  // Unavailable, with the path and the system's reason.
  absl::Status WriteMemorySnapshot(const std::string& path) const;

  // The smallest budget at which the last complete step is known to run with
  // this policy and at most four times its work, in bytes: found by repeating
  // the step on a device that only counts, which can take seconds. That one
  // step starts with empty memory; a later one finds blocks of the one before
  // in its way and can need some chunks more, so leave room. A step is
  // complete if it lies between two BeginStep calls and had no error.
  // Errors: FailedPrecondition if there was none.
  absl::StatusOr<size_t> MinimumBudget() const;

  const Device& device() const;

  // Aborts unless all bookkeeping agrees. Slow; for tests.
  void CheckInvariants() const;

 private:
  friend class Scope;
  explicit Runtime(std::shared_ptr<internal::Core> core);

  std::shared_ptr<internal::Core> core_;
};

// Names what is made on this thread while it lives: "block3/softmax". Scopes
// nest.
class Scope {
 public:
  Scope(Runtime& rt, std::string name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  std::shared_ptr<internal::Core> core_;
};

}  // namespace rekindle
