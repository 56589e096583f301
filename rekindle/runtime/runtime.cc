// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/runtime.h"

#include <cstdio>
#include <utility>

#include "rekindle/base/status_macros.h"
#include "rekindle/runtime/core.h"

namespace rekindle {

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::Create(
    RuntimeOptions options) {
  RK_ASSIGN_OR_RETURN(std::shared_ptr<internal::Core> core,
                      internal::Core::Create(std::move(options)));
  return std::unique_ptr<Runtime>(new Runtime(std::move(core)));
}

Runtime::Runtime(std::shared_ptr<internal::Core> core)
    : core_(std::move(core)) {}

Runtime::~Runtime() {
  if (!core_->prints_stats()) return;
  std::fputs(ToString(core_->Stats()).c_str(), stderr);
}

Tensor Runtime::Constant(const Spec& spec, const void* host,
                         ConstantOptions options, Site site) {
  return core_->Constant(spec, host, options, site);
}

Tensor Runtime::Adopt(const Spec& spec, DeviceAddress address,
                      std::function<void()> deleter, ConstantOptions options,
                      Site site) {
  return core_->Adopt(spec, address, std::move(deleter), options, site);
}

std::vector<Tensor> Runtime::Call(const CallOptions& options,
                                  absl::Span<const Tensor> inputs,
                                  absl::Span<const Spec> outputs, Kernel kernel,
                                  Site site) {
  return core_->Call(options, inputs, outputs, std::move(kernel), site);
}

std::vector<Tensor> Runtime::Call(const CallOptions& options,
                                  std::initializer_list<Tensor> inputs,
                                  std::initializer_list<Spec> outputs,
                                  Kernel kernel, Site site) {
  return core_->Call(options,
                     absl::MakeConstSpan(inputs.begin(), inputs.size()),
                     absl::MakeConstSpan(outputs.begin(), outputs.size()),
                     std::move(kernel), site);
}

absl::StatusOr<std::vector<Tensor>> Runtime::TryCall(
    const CallOptions& options, absl::Span<const Tensor> inputs,
    absl::Span<const Spec> outputs, Kernel kernel, Site site) {
  return core_->TryCall(options, inputs, outputs, std::move(kernel), site);
}

absl::Status Runtime::BeginStep(Site site) { return core_->BeginStep(site); }

absl::Status Runtime::SetBudget(size_t bytes) {
  return core_->SetBudget(bytes);
}

absl::StatusOr<Stream> Runtime::CreateStream() { return core_->CreateStream(); }
absl::Status Runtime::DestroyStream(Stream stream) {
  return core_->DestroyStream(stream);
}
absl::Status Runtime::StreamEnded(Stream stream) {
  return core_->StreamEnded(stream);
}

RuntimeStats Runtime::Stats() const { return core_->Stats(); }

absl::Status Runtime::WriteMemorySnapshot(const std::string& path) const {
  return core_->WriteMemorySnapshot(path);
}

absl::StatusOr<size_t> Runtime::MinimumBudget() const {
  return core_->MinimumBudget();
}

const Device& Runtime::device() const { return core_->device(); }

void Runtime::CheckInvariants() const { core_->CheckInvariants(); }

Scope::Scope(Runtime& rt, std::string name) : core_(rt.core_) {
  core_->scopes().Push(name);
}

Scope::~Scope() { core_->scopes().Pop(); }

}  // namespace rekindle
