// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/engine/engine.h"
#include "rekindle/evictor/policies.h"
#include "tests/programs/machine.h"

namespace rekindle::programs {
namespace {

// Each value is a storage and one reference to it.
class EngineMachine : public Machine {
 public:
  EngineMachine(const Program& program, ProgramDevice& device)
      : device_(device) {
    VmmAllocatorOptions options;
    options.budget =
        program.budget > 0 ? program.budget : ProgramDevice::kCapacity;
    options.small_block_limit = program.small_block_limit;
    allocator_ = VmmAllocator::Create(device.device(), options).value();
    EngineOptions engine_options;
    engine_options.verify = program.verify;
    engine_options.max_lineage_calls = program.max_lineage_calls;
    engine_ = std::make_unique<Engine>(device.device(), *allocator_,
                                       MakePolicy(program.policy).value(),
                                       engine_options);
  }

  absl::Status Constant(const Words& words, Stream stream) override {
    RK_ASSIGN_OR_RETURN(
        const StorageId storage,
        engine_->AddConstant(words.size() * 4, Kind::kInput, {"constant"}));
    values_.push_back(storage);
    const absl::Status status = Write(values_.size() - 1, words, stream);
    if (!status.ok()) Release(values_.size() - 1);
    return status;
  }

  absl::Status Call(const MachineCall& call) override {
    const Operation& operation = *call.operation;
    CallSpec spec;
    spec.label = {"random"};
    for (size_t input : call.inputs) spec.inputs.push_back(values_[input]);
    for (uint32_t words : operation.outputs) {
      spec.output_bytes.push_back(size_t{words} * 4);
    }
    spec.mutates.assign(call.mutates.begin(), call.mutates.end());
    spec.effects.assign(call.effects.begin(), call.effects.end());
    spec.workspace_bytes = operation.workspace;
    spec.cost = operation.cost;
    spec.stream = call.stream;
    spec.pure = operation.pure;
    spec.keep = operation.keep;
    spec.execute = KernelOf(call);
    RK_ASSIGN_OR_RETURN(const CallResult result, engine_->Run(std::move(spec)));
    auto updated = result.updated.begin();
    for (int i : call.mutates) ValueOf(call, i) = *updated++;
    for (int i : call.effects) ValueOf(call, i) = *updated++;
    values_.insert(values_.end(), result.outputs.begin(), result.outputs.end());
    return absl::OkStatus();
  }

  void View(size_t, size_t, size_t) override {}
  void Snapshot(size_t value) override {
    engine_->AddReference(values_[value]);
    values_.push_back(values_[value]);
  }
  void Release(size_t value) override {
    engine_->DropReference(values_[value]);
    values_[value] = values_.back();
    values_.pop_back();
  }

  absl::Status Read(size_t value, const Operation&, const Words& words,
                    Stream stream, const std::string& what) override {
    const StorageId storage = values_[value];
    RK_ASSIGN_OR_RETURN(const DeviceAddress address,
                        engine_->Pin(storage, {"read"}, stream));
    auto unpin = absl::MakeCleanup([&] { engine_->Unpin(storage, stream); });
    return device_.Compare(stream, address, words, what);
  }

  absl::Status Write(size_t value, const Words& words, Stream stream) override {
    RK_ASSIGN_OR_RETURN(
        const Engine::Writable to,
        engine_->PinForWrite(values_[value], {"write"}, stream));
    values_[value] = to.storage;
    const absl::Status status = device_.Put(stream, to.address, words);
    engine_->Unpin(to.storage, stream);
    return status;
  }

  void Evict(size_t value) override { engine_->Evict(values_[value]); }
  absl::Status Detach(size_t value) override {
    return engine_->Detach(values_[value]);
  }
  absl::Status Step() override { return engine_->DetachAll(); }
  absl::Status SetBudget(size_t bytes) override {
    return engine_->SetBudget(bytes);
  }

  absl::Status Guard(size_t value, const Operation&, Stream stream) override {
    const StorageId storage = values_[value];
    RK_ASSIGN_OR_RETURN(const DeviceAddress address,
                        engine_->Pin(storage, {"guard"}, stream));
    engine_->AddReference(storage);
    guards_.push_back({storage, address, stream});
    return absl::OkStatus();
  }
  absl::Status EndGuard(const Words& words, const std::string& what) override {
    const Pinned guard = guards_.front();
    guards_.pop_front();
    const absl::Status status =
        device_.Compare(guard.stream, guard.address, words, what);
    engine_->Unpin(guard.storage, guard.stream);
    engine_->DropReference(guard.storage);
    return status;
  }

  absl::StatusOr<Stream> CreateStream() override {
    return device_.device().CreateStream();
  }
  absl::Status EndStream(Stream stream) override {
    for (const Pinned& guard : guards_) {
      if (guard.stream == stream) return absl::FailedPreconditionError("guard");
    }
    RK_RETURN_IF_ERROR(device_.device().DestroyStream(stream));
    engine_->StreamEnded(stream);
    return absl::OkStatus();
  }

  bool has_views() const override { return false; }
  bool Same(size_t a, size_t b) const override {
    return values_[a] == values_[b];
  }
  std::optional<size_t> NamedBudget(const absl::Status&) const override {
    if (!engine_->last_shortfall().has_value()) return std::nullopt;
    return engine_->last_shortfall()->needed_budget;
  }
  EngineStats engine_stats() const override { return engine_->stats(); }
  AllocatorStats allocator_stats() const override {
    return allocator_->stats();
  }
  void CheckInvariants() const override { engine_->CheckInvariants(); }

 private:
  struct Pinned {
    StorageId storage;
    DeviceAddress address;
    Stream stream;
  };

  StorageId& ValueOf(const MachineCall& call, int input) {
    return values_[call.inputs[static_cast<size_t>(input)]];
  }

  Executor KernelOf(const MachineCall& call) const {
    return [device = &device_, behaviour = call.behaviour,
            workspace = size_t{call.operation->workspace}](
               const KernelBinding& binding) {
      ProgramDevice::KernelRun run;
      run.inputs.assign(binding.inputs.begin(), binding.inputs.end());
      run.outputs.assign(binding.outputs.begin(), binding.outputs.end());
      run.workspace = binding.workspace;
      run.workspace_bytes = workspace;
      run.stream = binding.stream;
      return device->RunKernel(behaviour, run);
    };
  }

  ProgramDevice& device_;
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<Engine> engine_;
  std::vector<StorageId> values_;
  std::deque<Pinned> guards_;
};

}  // namespace

std::unique_ptr<Machine> MakeEngineMachine(const Program& program,
                                           ProgramDevice& device) {
  return std::make_unique<EngineMachine>(program, device);
}

}  // namespace rekindle::programs
