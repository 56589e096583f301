// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/engine.h"

#include <utility>

#include "rekindle/base/check.h"
#include "rekindle/engine/engine_impl.h"

namespace rekindle {

Engine::Engine(Device& device, Allocator& allocator,
               std::unique_ptr<Policy> policy, const EngineOptions& options)
    : impl_(std::make_unique<Impl>(device, allocator, std::move(policy),
                                   options)) {}

Engine::~Engine() = default;

absl::StatusOr<StorageId> Engine::AddConstant(size_t bytes, Kind kind,
                                              Label label) {
  return impl_->AddConstant(bytes, kind, std::move(label));
}

StorageId Engine::AdoptConstant(DeviceAddress address, size_t bytes, Kind kind,
                                Label label, std::function<void()> release) {
  RK_CHECK(release != nullptr, "adopted memory is released by its owner");
  return impl_->AdoptConstant({{address, bytes}, std::move(release)}, kind,
                              std::move(label));
}

absl::StatusOr<CallResult> Engine::Run(CallSpec&& spec) {
  return impl_->Run(spec);
}

absl::Status Engine::Exhausted(const CallSpec& spec,
                               absl::Span<const size_t> copies) {
  return impl_->Exhausted(spec, copies);
}

void Engine::AddReference(StorageId storage) { impl_->AddReference(storage); }
void Engine::DropReference(StorageId storage) { impl_->DropReference(storage); }

absl::StatusOr<DeviceAddress> Engine::Pin(StorageId storage, const Label& by,
                                          Stream stream) {
  return impl_->Pin(storage, by, stream);
}
void Engine::Unpin(StorageId storage, Stream stream) {
  impl_->Unpin(storage, stream);
}

absl::StatusOr<Engine::Writable> Engine::PinForWrite(StorageId storage,
                                                     const Label& by,
                                                     Stream stream) {
  return impl_->PinForWrite(storage, by, stream);
}
void Engine::StreamEnded(Stream stream) { impl_->StreamEnded(stream); }

absl::Status Engine::Detach(StorageId storage) {
  return impl_->Detach(storage);
}
absl::Status Engine::DetachAll() { return impl_->DetachAll(); }
bool Engine::Evict(StorageId storage) { return impl_->Evict(storage); }
absl::Status Engine::SetBudget(size_t bytes) { return impl_->SetBudget(bytes); }

bool Engine::IsConstant(StorageId storage) const {
  return impl_->Get(storage).constant();
}
bool Engine::IsResident(StorageId storage) const {
  return impl_->Get(storage).resident();
}
std::vector<StorageInfo> Engine::Storages() const { return impl_->Storages(); }
EngineStats Engine::stats() const { return impl_->stats(); }
void Engine::ResetPeak() { impl_->ResetPeak(); }
const std::optional<Shortfall>& Engine::last_shortfall() const {
  return impl_->last_shortfall();
}
void Engine::CheckInvariants() const { impl_->CheckInvariants(); }

}  // namespace rekindle
