// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <utility>

#include "absl/strings/string_view.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/rekindle.h"
#include "tests/programs/machine.h"

namespace rekindle::programs {
namespace {

Spec SpecOf(size_t words) { return I32({static_cast<int64_t>(words)}); }

class RuntimeMachine : public Machine {
 public:
  RuntimeMachine(const Program& program, ProgramDevice& device)
      : device_(device), generator_(program.seed) {
    RuntimeOptions options;
    options.custom_device = device.shared();
    options.budget = program.budget > 0 ? Budget::Bytes(program.budget)
                                        : Budget::Unlimited();
    options.policy = program.policy;
    options.verify = program.verify;
    options.record_steps = program.record_steps;
    options.max_lineage_calls = program.max_lineage_calls;
    options.snapshot_directory = "";
    options.log_level = 0;
    rt_ = Runtime::Create(options).value();
  }

  absl::Status Constant(const Words& words, Stream) override {
    Tensor tensor = rt_->Constant(SpecOf(words.size()), words.data());
    if (tensor.status().ok()) values_.push_back(tensor);
    return tensor.status();
  }

  absl::Status Call(const MachineCall& call) override {
    const Operation& operation = *call.operation;
    CallOptions options;
    options.name = "random";
    options.flops = 1e6 * operation.cost;
    options.mutates = call.mutates;
    options.effects = call.effects;
    if (operation.draws) options.random = &generator_;
    options.workspace_bytes = operation.workspace;
    options.stream = call.stream;
    options.pure = operation.pure;
    options.keep = operation.keep;
    std::vector<Tensor> inputs;
    for (size_t input : call.inputs) inputs.push_back(values_[input]);
    // An output more, so that there is one to carry an error.
    std::vector<Spec> specs;
    for (uint32_t words : operation.outputs) specs.push_back(SpecOf(words));
    if (specs.empty()) specs.push_back(SpecOf(0));
    const std::vector<Tensor> outputs =
        rt_->Call(options, inputs, specs, KernelOf(call));
    RK_RETURN_IF_ERROR(outputs[0].status());
    for (size_t i = 0; i < operation.outputs.size(); ++i) {
      values_.push_back(outputs[i]);
    }
    return absl::OkStatus();
  }

  void View(size_t value, size_t begin, size_t end) override {
    values_.push_back(values_[value].Slice(static_cast<int64_t>(begin),
                                           static_cast<int64_t>(end)));
  }
  void Snapshot(size_t value) override {
    values_.push_back(values_[value].Snapshot());
  }
  void Release(size_t value) override {
    std::swap(values_[value], values_.back());
    values_.pop_back();
  }

  absl::Status Read(size_t value, const Operation& how, const Words& words,
                    Stream stream, const std::string& what) override {
    const Tensor& tensor = values_[value];
    if (how.salt % 4 == 0) {
      RK_ASSIGN_OR_RETURN(const Words read, tensor.ToHost<uint32_t>());
      device_.Compare(read, words, what);
      return absl::OkStatus();
    }
    RK_ASSIGN_OR_RETURN(const ReadGuard guard, tensor.Read(stream));
    return device_.Compare(stream, guard.address(), words, what);
  }

  absl::Status Write(size_t value, const Words& words, Stream stream) override {
    RK_ASSIGN_OR_RETURN(const WriteGuard guard, values_[value].Write(stream));
    return device_.Put(stream, guard.address(), words);
  }

  void Evict(size_t value) override { values_[value].Evict(); }
  absl::Status Detach(size_t value) override { return values_[value].Detach(); }
  // Errors of the step before come back first; here, who saw them knows them.
  absl::Status Step() override {
    absl::Status status;
    for (int i = 0; i < 3; ++i) {
      status = rt_->BeginStep();
      if (status.ok()) break;
    }
    return status;
  }
  absl::Status SetBudget(size_t bytes) override {
    return rt_->SetBudget(bytes);
  }

  absl::Status Guard(size_t value, const Operation& how,
                     Stream stream) override {
    const Tensor& tensor = values_[value];
    // Keep() pins on the default stream.
    const bool keep = how.salt % 4 == 0;
    RK_ASSIGN_OR_RETURN(ReadGuard guard,
                        keep ? tensor.Keep() : tensor.Read(stream));
    guards_.push_back({std::move(guard), keep ? Stream() : stream});
    return absl::OkStatus();
  }
  absl::Status EndGuard(const Words& words, const std::string& what) override {
    const Pinned pinned = std::move(guards_.front());
    guards_.pop_front();
    return device_.Compare(pinned.stream, pinned.guard.address(), words, what);
  }

  absl::StatusOr<Stream> CreateStream() override { return rt_->CreateStream(); }
  absl::Status EndStream(Stream stream) override {
    return rt_->DestroyStream(stream);
  }

  bool has_views() const override { return true; }
  bool Same(size_t, size_t) const override { return false; }
  // As a person would: from what the error says.
  std::optional<size_t> NamedBudget(const absl::Status& status) const override {
    constexpr absl::string_view kBefore = "needs at least ";
    absl::string_view text = status.message();
    const size_t begin = text.find(kBefore);
    if (begin == absl::string_view::npos) return std::nullopt;
    text.remove_prefix(begin + kBefore.size());
    const absl::StatusOr<size_t> bytes =
        ParseBytes(text.substr(0, text.find(" to be")));
    if (!bytes.ok()) return std::nullopt;
    return *bytes;
  }
  EngineStats engine_stats() const override { return rt_->Stats().engine; }
  AllocatorStats allocator_stats() const override {
    return rt_->Stats().allocator;
  }
  void CheckInvariants() const override { rt_->CheckInvariants(); }

 private:
  struct Pinned {
    ReadGuard guard;
    Stream stream;
  };

  Kernel KernelOf(const MachineCall& call) const {
    return [device = &device_, behaviour = call.behaviour,
            workspace = size_t{call.operation->workspace}](KernelArgs& a) {
      ProgramDevice::KernelRun run;
      for (size_t i = 0; i < behaviour.input_words.size(); ++i) {
        run.inputs.push_back(reinterpret_cast<DeviceAddress>(
            a.inout<uint32_t>(static_cast<int>(i))));
      }
      for (size_t i = 0; i < behaviour.output_words.size(); ++i) {
        run.outputs.push_back(reinterpret_cast<DeviceAddress>(
            a.output<uint32_t>(static_cast<int>(i))));
      }
      run.workspace = reinterpret_cast<DeviceAddress>(a.workspace());
      run.workspace_bytes = workspace;
      run.draw = a.random();
      run.stream = a.stream();
      return device->RunKernel(behaviour, run);
    };
  }

  ProgramDevice& device_;
  Generator generator_;
  std::unique_ptr<Runtime> rt_;
  std::vector<Tensor> values_;
  std::deque<Pinned> guards_;
};

}  // namespace

std::unique_ptr<Machine> MakeRuntimeMachine(const Program& program,
                                            ProgramDevice& device) {
  return std::make_unique<RuntimeMachine>(program, device);
}

std::unique_ptr<Machine> MakeMachine(const Program& program,
                                     ProgramDevice& device) {
  return program.level == Level::kEngine ? MakeEngineMachine(program, device)
                                         : MakeRuntimeMachine(program, device);
}

}  // namespace rekindle::programs
