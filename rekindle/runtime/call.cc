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
std::vector<int> FirstOfEach(const std::vector<int>& indices,
                             absl::Span<Variable* const> inputs) {
  std::vector<int> first;
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
  Label label;
  absl::InlinedVector<Variable*, 4> inputs;
  std::vector<int> mutates;  // each variable once
  std::vector<int> effects;
  absl::InlinedVector<size_t, 2> output_bytes;
  size_t workspace_bytes = 0;
  Stream stream;
  bool pure = true;
  Keep keep = Keep::kDefault;
  Kind kind = Kind::kActivation;
  std::shared_ptr<StoredKernel> kernel;
};

std::vector<Tensor> Core::Call(const CallOptions& options,
                               absl::Span<const Tensor> inputs,
                               absl::Span<const Spec> outputs, Kernel kernel,
                               Site site) {
  std::vector<Tensor> tensors;
  tensors.reserve(outputs.size());
  for (const Tensor& input : inputs) {
    if (input.core_ == nullptr || input.status_.ok()) continue;
    for (const Spec& spec : outputs) {
      tensors.push_back(Carry(spec, input.status_));
    }
    return tensors;
  }
  const Label label = MakeLabel(options.name, site);
  const absl::StatusOr<std::vector<StorageId>> storages =
      RunCall(options, label, inputs, outputs, std::move(kernel));
  if (!storages.ok()) Note(storages.status()).IgnoreError();
  for (size_t i = 0; i < outputs.size(); ++i) {
    tensors.push_back(storages.ok() ? MakeTensor(outputs[i], (*storages)[i],
                                                 options.kind, label)
                                    : Carry(outputs[i], storages.status()));
  }
  return tensors;
}

absl::StatusOr<std::vector<StorageId>> Core::RunCall(
    const CallOptions& options, const Label& label,
    absl::Span<const Tensor> inputs, absl::Span<const Spec> outputs,
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
  for (int i : call->mutates) call->inputs[i]->storage = *updated++;
  for (int i : call->effects) call->inputs[i]->storage = *updated++;
  return std::move(result->outputs);
}

absl::Status Core::CheckInputs(const Core& core,
                               absl::Span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    if (input.core_ == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", i, " is an empty tensor"));
    }
    if (input.core_.get() != &core) {
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
  for (const Spec& spec : outputs) call.output_bytes.push_back(spec.bytes());
  call.mutates = FirstOfEach(options.mutates, call.inputs);
  call.effects = FirstOfEach(options.effects, call.inputs);
  for (int effect : call.effects) {
    for (int update : call.mutates) {
      if (call.inputs[effect] != call.inputs[update]) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("mutates and effects name the same tensor (inputs ",
                       update, " and ", effect, ")"));
    }
  }
  call.label = label;
  call.workspace_bytes = options.workspace_bytes;
  call.stream = InUse(options.stream);
  call.pure = options.pure;
  call.keep = options.keep;
  call.kind = options.kind;
  call.kernel = std::make_shared<StoredKernel>(
      *this, std::move(kernel), label, std::move(offsets),
      options.random != nullptr ? options.random->state() : PhiloxDraw{},
      Seconds(options, inputs, outputs));
  return call;
}

absl::StatusOr<CallResult> Core::Attempt(const PreparedCall& call) {
  kernel_failed_ = false;
  RK_RETURN_IF_ERROR(SeparateUpdated(call));
  CallSpec spec;
  spec.label = call.label;
  spec.inputs.reserve(call.inputs.size());
  for (const Variable* input : call.inputs) {
    spec.inputs.push_back(input->storage);
  }
  spec.output_bytes.assign(call.output_bytes.begin(), call.output_bytes.end());
  spec.output_kind = call.kind;
  spec.mutates = call.mutates;
  spec.effects = call.effects;
  spec.workspace_bytes = call.workspace_bytes;
  const bool measured =
      options_.cost_model == CostModel::kMeasured && device_->holds_bytes();
  spec.cost = measured ? -1 : call.kernel->seconds();
  spec.stream = call.stream;
  spec.pure = call.pure;
  spec.keep = call.keep;
  spec.execute = MakeExecutor(call.kernel);
  return engine_->Run(std::move(spec));
}

// To the engine one storage has one value. Where an updated variable shares
// its storage with another input (its Snapshot), it first gets a copy.
absl::Status Core::SeparateUpdated(const PreparedCall& call) {
  std::vector<int> updated = call.mutates;
  updated.insert(updated.end(), call.effects.begin(), call.effects.end());
  for (int index : updated) {
    Variable& variable = *call.inputs[index];
    if (absl::c_any_of(call.inputs, [&](const Variable* other) {
          return other != &variable && other->storage == variable.storage;
        })) {
      RK_RETURN_IF_ERROR(CopyAway(variable, call.label, call.stream));
    }
  }
  return absl::OkStatus();
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
  spec.execute = MakeExecutor(std::make_shared<StoredKernel>(
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

Executor Core::MakeExecutor(std::shared_ptr<StoredKernel> kernel) {
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
