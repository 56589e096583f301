// SPDX-License-Identifier: Apache-2.0
// What Runtime and all Tensors made by it share.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/allocator/history_allocator.h"
#include "rekindle/base/log.h"
#include "rekindle/base/mutex.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/engine.h"
#include "rekindle/runtime/gate.h"
#include "rekindle/runtime/minimum_budget.h"
#include "rekindle/runtime/recording_engine.h"
#include "rekindle/runtime/runtime.h"
#include "rekindle/runtime/scope_names.h"
#include "rekindle/runtime/stored_kernel.h"
#include "rekindle/runtime/variable.h"

namespace rekindle::internal {

// The engine and all around it, behind one lock (the gate). Thread-safe.
//
// Kernels run on the calling thread with the gate held. A kernel that calls
// back gets FailedPrecondition. A handle or guard that ends inside (captured
// by a kernel, or dropped by it) is put aside and ends when the gate opens.
class Core : public std::enable_shared_from_this<Core> {
 public:
  static absl::StatusOr<std::shared_ptr<Core>> Create(RuntimeOptions options);
  ~Core();

  // As the functions of the same names of Runtime.
  Tensor Constant(const Spec& spec, const void* host,
                  const ConstantOptions& options, Site site);
  Tensor Adopt(const Spec& spec, DeviceAddress address,
               std::function<void()> deleter, const ConstantOptions& options,
               Site site);
  std::vector<Tensor> Call(const CallOptions& options,
                           absl::Span<const Tensor> inputs,
                           absl::Span<const Spec> outputs, Kernel kernel,
                           Site site);
  absl::StatusOr<std::vector<Tensor>> TryCall(const CallOptions& options,
                                              absl::Span<const Tensor> inputs,
                                              absl::Span<const Spec> outputs,
                                              Kernel kernel, Site site);
  absl::Status BeginStep(Site site);
  absl::Status SetBudget(size_t bytes);
  absl::StatusOr<Stream> CreateStream();
  absl::Status DestroyStream(Stream stream);
  absl::Status StreamEnded(Stream stream);
  RuntimeStats Stats();
  absl::Status WriteMemorySnapshot(const std::string& path);
  absl::StatusOr<size_t> MinimumBudget();
  void CheckInvariants();

  // As the functions of the same names of Tensor. REQUIRES: `tensor` is OK and
  // of this core.
  absl::StatusOr<ReadGuard> Read(const Tensor& tensor, Stream stream,
                                 Site site);
  absl::StatusOr<WriteGuard> Write(const Tensor& tensor, Stream stream,
                                   Site site);
  absl::Status ToHost(const Tensor& tensor, void* to, size_t bytes, Site site);
  Tensor Snapshot(const Tensor& tensor);
  absl::Status Detach(const Tensor& tensor, Site site);
  bool Evict(const Tensor& tensor);
  bool IsResident(const Tensor& tensor);

  // Ends what a Variable or a Pin owns; at any time, on any thread.
  void DropReference(StorageId storage);
  void EndPin(const Pin& pin);

  // A tensor that carries `status`, which becomes the first error of the step
  // unless there is one.
  Tensor Failed(const Spec& spec, absl::Status status);

  Device& device() const { return *device_; }
  // FailedPrecondition for a device without bytes to look at.
  absl::Status CheckHoldsBytes() const;
  ScopeNames& scopes() { return scopes_; }
  bool prints_stats() const { return options_.print_stats; }

 private:
  using Deadline = std::chrono::steady_clock::time_point;
  class Section;

  // The smallest budget for a step, once it was looked for.
  struct StepBudget {
    std::shared_ptr<const Step> step;
    std::optional<size_t> bytes;  // nullopt: not found in the time there was
  };

  // What waits for the gate to open: one reference, and a pin if there is a
  // stream for it.
  struct Late {
    StorageId storage;
    std::optional<Stream> pin;
  };

  Core(RuntimeOptions options, std::shared_ptr<Device> device,
       std::unique_ptr<Allocator> allocator, HistoryAllocator* history,
       std::unique_ptr<Policy> policy);

  // FailedPrecondition on a thread that is running a kernel.
  absl::Status RefuseInKernel() const;
  // FailedPrecondition while a WriteGuard of the variable lives: nobody can say
  // what its value is.
  absl::Status RefuseWritten(const Variable& variable) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  Label MakeLabel(const std::string& name, Site site) const;
  // "read of block7/softmax"
  static Label LabelOf(const char* verb, const Tensor& tensor, Site site);
  // Remembers the first error of the step. Gives `status` back.
  absl::Status Note(absl::Status status);
  absl::Status TakeFirstError();
  Tensor MakeTensor(const Spec& spec, StorageId storage, Kind kind,
                    const Label& label);
  static Tensor Carry(const Spec& spec, absl::Status status);

  // constant.cc
  absl::StatusOr<StorageId> AddConstant(const Spec& spec, const void* host,
                                        Kind kind, const Label& label);
  absl::Status Initialize(StorageId storage, size_t bytes, const void* host,
                          const Label& label)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);

  // call.cc
  struct PreparedCall;
  static absl::Status CheckInputs(const Core& core,
                                  absl::Span<const Tensor> inputs);
  absl::StatusOr<StorageIds> RunCall(const CallOptions& options,
                                     const Label& label,
                                     absl::Span<const Tensor> inputs,
                                     absl::Span<const Spec> outputs,
                                     Kernel kernel);
  absl::StatusOr<PreparedCall> Prepare(const CallOptions& options,
                                       const Label& label,
                                       absl::Span<const Tensor> inputs,
                                       absl::Span<const Spec> outputs,
                                       Kernel kernel);
  absl::StatusOr<CallResult> Attempt(PreparedCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status SeparateUpdated(const PreparedCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  std::vector<size_t> CopiesLeft(const PreparedCall& call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status CopyAway(Variable& variable, const Label& label, Stream stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  static Executor MakeExecutor(std::unique_ptr<StoredKernel> kernel);
  absl::Status RunKernel(StoredKernel& kernel, const KernelBinding& binding);

  // core_tensor.cc
  // Takes over one pin and one reference.
  ReadGuard MakeGuard(StorageId storage, DeviceAddress address, Stream stream)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  // The default stream is what the options say.
  Stream InUse(Stream stream) const {
    return stream == Stream() ? options_.stream : stream;
  }

  // True if the call that failed with `status` should be tried again, after
  // having waited for a change: other threads pin memory. The deadline is set
  // at the first wait. See pin_wait.
  bool WaitForPins(const absl::Status& status,
                   std::optional<Deadline>& deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  Deadline PinDeadline() const;
  bool IsShortfall(const absl::Status& status) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  // The error as the program sees it: that of a shortfall has all numbers.
  absl::Status Explain(const absl::Status& status, const Label& label)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  // SmallestBudget of the last whole step; nullopt if there is none, or if it
  // takes long to find.
  std::optional<size_t> KnownStepBudget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  ReplayOptions HowToReplay() const;
  std::string WriteSnapshot(const std::string& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);

  // An error if the stream is in use for as long as somebody wants.
  absl::Status RefuseToEnd(Stream stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  void PutAside(Late late) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  void ReleasePin(const Pin& pin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  void EndLate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  // One warning each time that the device refused what the budget allows.
  void WarnIfBudgetFell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);

  const RuntimeOptions options_;
  const Log log_;
  const std::shared_ptr<Device> device_;
  CountingDevice* const counting_;  // device_, if it is one
  ScopeNames scopes_;

  mutable Mutex error_mutex_;  // never held while anything else is locked
  absl::Status first_error_ ABSL_GUARDED_BY(error_mutex_);

  mutable Gate gate_;
  const std::unique_ptr<Allocator> allocator_ ABSL_PT_GUARDED_BY(gate_);
  // allocator_, if it keeps events.
  HistoryAllocator* const history_ ABSL_PT_GUARDED_BY(gate_);
  std::vector<Late> late_ ABSL_GUARDED_BY(gate_);
  std::vector<std::function<void()>> late_deleters_ ABSL_GUARDED_BY(gate_);
  std::map<std::thread::id, int> pins_ ABSL_GUARDED_BY(gate_);
  std::map<uintptr_t, int> stream_pins_ ABSL_GUARDED_BY(gate_);  // by handle
  std::set<StorageId> written_ ABSL_GUARDED_BY(gate_);  // by a WriteGuard
  int64_t steps_ ABSL_GUARDED_BY(gate_) = 0;
  int64_t budget_falls_ ABSL_GUARDED_BY(gate_) = 0;    // warned of
  int64_t snapshot_step_ ABSL_GUARDED_BY(gate_) = -1;  // of the last snapshot
  // Whether the latest error of the engine came out of a kernel.
  bool kernel_failed_ ABSL_GUARDED_BY(gate_) = false;
  std::optional<StepBudget> step_budget_ ABSL_GUARDED_BY(gate_);
  std::unique_ptr<RecordingEngine> engine_ ABSL_PT_GUARDED_BY(gate_);
};

// Holds the gate. Before it opens, everything put aside ends, and what must be
// said is said.
class ABSL_SCOPED_LOCKABLE Core::Section {
 public:
  explicit Section(Core& core) ABSL_EXCLUSIVE_LOCK_FUNCTION(core.gate_);
  // `label` says what it is for.
  Section(Core& core, const Label& label)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(core.gate_);
  ~Section() ABSL_UNLOCK_FUNCTION();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  Core& core_;
};

}  // namespace rekindle::internal
