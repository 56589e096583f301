// SPDX-License-Identifier: Apache-2.0
// How a call of the program becomes a call of the engine.
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/runtime/call_check.h"
#include "rekindle/runtime/core.h"
#include "rekindle/runtime/cost.h"
#include "rekindle/runtime/named_error.h"

namespace rekindle::internal {
namespace {

double Seconds(const CallOptions& options, absl::Span<const Tensor> inputs,
               absl::Span<const Spec> outputs) {
  double bytes = options.bytes;
  if (bytes == 0) {
    for (const Tensor& input : inputs) {
      bytes += static_cast<double>(input.bytes());
    }
    for (const Spec& output : outputs) {
      bytes += static_cast<double>(output.bytes());
    }
  }
  return ModelledSeconds(options.flops, bytes);
}

// The indices that name a variable which no earlier one names.
InputIndices FirstOfEach(const std::vector<int>& indices,
                         absl::Span<Variable* const> inputs) {
  InputIndices first;
  for (int index : indices) {
    if (absl::c_none_of(first,
                        [&](int f) { return inputs[f] == inputs[index]; })) {
      first.push_back(index);
    }
  }
  return first;
}

}  // namespace

// A call that was checked, to be tried as often as it takes.
struct Core::PreparedCall {
  absl::InlinedVector<Variable*, 4> inputs;
  CallSpec spec;  // all but the storages of `inputs`

  // Whether another of the variables has the same storage as this one.
  bool SharesStorage(int index) const {
    const Variable* variable = inputs[static_cast<size_t>(index)];
    return absl::c_any_of(inputs, [variable](const Variable* other) {
      return other != variable && other->storage == variable->storage;
    });
  }
};

std::vector<Tensor> Core::Call(const CallOptions& options,
                               absl::Span<const Tensor> inputs,
                               absl::Span<const Spec> outputs, Kernel kernel,
                               Site site) {
  absl::StatusOr<std::vector<Tensor>> made =
      TryCall(options, inputs, outputs, std::move(kernel), site);
  if (made.ok()) return *std::move(made);
  std::vector<Tensor> failed;
  failed.reserve(outputs.size());
  for (const Spec& spec : outputs) failed.push_back(Carry(spec, made.status()));
  return failed;
}

absl::StatusOr<std::vector<Tensor>> Core::TryCall(
    const CallOptions& options, absl::Span<const Tensor> inputs,
    absl::Span<const Spec> outputs, Kernel kernel, Site site) {
  // Errors that inputs carry are known already.
  for (const Tensor& input : inputs) RK_RETURN_IF_ERROR(input.status_);
  const Label label = MakeLabel(options.name, site);
  const absl::StatusOr<StorageIds> storages =
      RunCall(options, label, inputs, outputs, std::move(kernel));
  if (!storages.ok()) return Note(storages.status());
  std::vector<Tensor> tensors;
  tensors.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    tensors.push_back(
        MakeTensor(outputs[i], (*storages)[i], options.kind, label));
  }
  return tensors;
}

absl::StatusOr<StorageIds> Core::RunCall(const CallOptions& options,
                                         const Label& label,
                                         absl::Span<const Tensor> inputs,
                                         absl::Span<const Spec> outputs,
                                         Kernel kernel) {
  RK_RETURN_IF_ERROR(Named(label, RefuseInKernel()));
  absl::StatusOr<PreparedCall> call =
      Prepare(options, label, inputs, outputs, std::move(kernel));
  if (!call.ok()) return Named(label, call.status());

  std::optional<Deadline> deadline;
  Section section(*this, label);
  for (const Variable* input : call->inputs) {
    RK_RETURN_IF_ERROR(Named(label, RefuseWritten(*input)));
  }
  absl::StatusOr<CallResult> result;
  do {
    result = Attempt(*call);
  } while (WaitForPins(result.status(), deadline));
  if (!result.ok()) return Explain(result.status(), label);

  if (options.random != nullptr) options.random->Next();
  auto updated = result->updated.begin();
  for (int i : ChangedInputs(call->spec)) {
    call->inputs[i]->storage = *updated++;
  }
  return std::move(result->outputs);
}

absl::Status Core::CheckInputs(const Core& core,
                               absl::Span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    if (input.variable_ == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " is an empty tensor"));
    }
    if (input.variable_->core.get() != &core) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " belongs to another runtime"));
    }
    RK_CHECK(input.offset_ <= input.variable_->bytes &&
                 input.bytes() <= input.variable_->bytes - input.offset_,
             "a view reaches past its storage");
  }
  return absl::OkStatus();
}

absl::StatusOr<Core::PreparedCall> Core::Prepare(
    const CallOptions& options, const Label& label,
    absl::Span<const Tensor> inputs, absl::Span<const Spec> outputs,
    Kernel kernel) {
  RK_RETURN_IF_ERROR(CheckInputs(*this, inputs));
  RK_RETURN_IF_ERROR(CheckCall(options, inputs.size(), outputs));
  if (!kernel) return absl::InvalidArgumentError("there is no kernel");

  PreparedCall call;
  std::vector<size_t> offsets;
  const bool views = absl::c_any_of(
      inputs, [](const Tensor& input) { return input.offset_ != 0; });
  for (const Tensor& input : inputs) {
    call.inputs.push_back(input.variable_.get());
    if (views) offsets.push_back(input.offset_);
  }
  CallSpec& spec = call.spec;
  for (const Spec& output : outputs) {
    spec.output_bytes.push_back(output.bytes());
  }
  spec.mutates = FirstOfEach(options.mutates, call.inputs);
  spec.effects = FirstOfEach(options.effects, call.inputs);
  for (int effect : spec.effects) {
    for (int update : spec.mutates) {
      if (call.inputs[effect] != call.inputs[update]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("mutates and effects name the same tensor (inputs ",
                       update, " and ", effect, ")"));
    }
  }
  spec.label = label;
  spec.output_kind = options.kind;
  spec.workspace_bytes = options.workspace_bytes;
  spec.stream = InUse(options.stream);
  spec.pure = options.pure;
  spec.keep = options.keep;
  const bool measured =
      options_.cost_model == CostModel::kMeasured && device_->holds_bytes();
  const double seconds = Seconds(options, inputs, outputs);
  spec.cost = measured ? -1 : seconds;
  spec.execute = MakeExecutor(std::make_unique<StoredKernel>(
      *this, std::move(kernel), label, std::move(offsets),
      options.random != nullptr ? options.random->state() : PhiloxDraw{},
      seconds));
  return call;
}

absl::StatusOr<CallResult> Core::Attempt(PreparedCall& call) {
  kernel_failed_ = false;
  const absl::Status separated = SeparateUpdated(call);
  call.spec.inputs.clear();
  for (const Variable* input : call.inputs) {
    call.spec.inputs.push_back(input->storage);
  }
  if (separated.ok()) return engine_->Run(std::move(call.spec));
  if (!IsShortfall(separated)) return separated;
  // The program hears what the whole call needs, not what its first copy does.
  return engine_->engine().Exhausted(call.spec, CopiesLeft(call));
}

// To the engine one storage has one value. Where an updated variable shares
// its storage with another input (its Snapshot), it first gets a copy.
absl::Status Core::SeparateUpdated(const PreparedCall& call) {
  for (int index : ChangedInputs(call.spec)) {
    if (!call.SharesStorage(index)) continue;
    RK_RETURN_IF_ERROR(CopyAway(*call.inputs[static_cast<size_t>(index)],
                                call.spec.label, call.spec.stream));
  }
  return absl::OkStatus();
}

// Beside those that the engine would make itself: of constants that others
// share.
std::vector<size_t> Core::CopiesLeft(const PreparedCall& call) const {
  std::vector<size_t> copies;
  for (int index : ChangedInputs(call.spec)) {
    const Variable& variable = *call.inputs[static_cast<size_t>(index)];
    if (call.SharesStorage(index) &&
        !engine_->engine().IsConstant(variable.storage)) {
      copies.push_back(variable.bytes);
    }
  }
  return copies;
}

absl::Status Core::CopyAway(Variable& variable, const Label& label,
                            Stream stream) {
  const size_t bytes = variable.bytes;
  CallSpec spec;
  spec.label = label;
  spec.inputs = {variable.storage};
  spec.output_bytes = {bytes};
  spec.output_kind = variable.kind;
  spec.cost = ModelledSeconds(0, 2.0 * static_cast<double>(bytes));
  spec.stream = stream;
  Device* const device = device_.get();
  Kernel copy = [device, bytes](KernelArgs& a) {
    if (bytes == 0) return absl::OkStatus();
    return device->Copy(reinterpret_cast<DeviceAddress>(a.output<char>(0)),
                        reinterpret_cast<DeviceAddress>(a.input<char>(0)),
                        bytes, a.stream());
  };
  spec.execute = MakeExecutor(std::make_unique<StoredKernel>(
      *this, std::move(copy), label, std::vector<size_t>(), PhiloxDraw{},
      spec.cost));
  RK_ASSIGN_OR_RETURN(const CallResult result, engine_->Run(std::move(spec)));
  const StorageId separate = result.outputs[0];
  if (engine_->engine().IsConstant(variable.storage)) {
    const absl::Status status = engine_->Detach(separate);
    if (!status.ok()) {
      engine_->DropReference(separate);
      return status;
    }
  }
  engine_->DropReference(variable.storage);
  variable.storage = separate;
  return absl::OkStatus();
}

Executor Core::MakeExecutor(std::unique_ptr<StoredKernel> kernel) {
  // No more than fits into an Executor without an allocation.
  return [kernel = std::move(kernel)](const KernelBinding& binding) {
    return kernel->core().RunKernel(*kernel, binding);
  };
}

absl::Status Core::RunKernel(StoredKernel& kernel,
                             const KernelBinding& binding) {
  gate_.AssertInside();
  if (!device_->holds_bytes()) {
    if (counting_ != nullptr) {
      const std::chrono::duration<double> time(kernel.seconds());
      counting_->Advance(
          std::chrono::duration_cast<std::chrono::nanoseconds>(time));
    }
    return absl::OkStatus();
  }
  const absl::Status status = kernel.Run(binding);
  if (!status.ok()) kernel_failed_ = true;
  return status;
}

}  // namespace rekindle::internal
