// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/recording_engine.h"

#include "rekindle/base/status_macros.h"

namespace rekindle::internal {

using Action = Step::Action;

absl::StatusOr<StorageId> RecordingEngine::AddConstant(size_t bytes, Kind kind,
                                                       Label label) {
  RK_ASSIGN_OR_RETURN(const StorageId storage,
                      engine_->AddConstant(bytes, kind, std::move(label)));
  AppendConstant({storage, bytes, kind, /*adopted=*/false});
  return storage;
}

StorageId RecordingEngine::AdoptConstant(DeviceAddress address, size_t bytes,
                                         Kind kind, Label label,
                                         std::function<void()> release) {
  const StorageId storage = engine_->AdoptConstant(
      address, bytes, kind, std::move(label), std::move(release));
  AppendConstant({storage, bytes, kind, /*adopted=*/true});
  return storage;
}

absl::StatusOr<CallResult> RecordingEngine::Run(CallSpec&& spec) {
  if (!recording_) return engine_->Run(std::move(spec));
  const double before = spec.cost < 0 ? engine_->stats().call_cost : 0;
  RK_ASSIGN_OR_RETURN(CallResult result, engine_->Run(std::move(spec)));
  if (spec.cost < 0) spec.cost = engine_->stats().call_cost - before;
  step_.calls.push_back({CopyWithoutExecutor(spec), result});
  Append({Action::kCall, StorageId(), StorageId(), step_.calls.size() - 1});
  return result;
}

void RecordingEngine::AddReference(StorageId storage) {
  engine_->AddReference(storage);
  Append(Action::kAddReference, storage);
}

void RecordingEngine::DropReference(StorageId storage) {
  engine_->DropReference(storage);
  Append(Action::kDropReference, storage);
}

absl::StatusOr<DeviceAddress> RecordingEngine::Pin(StorageId storage,
                                                   const Label& by,
                                                   Stream stream) {
  RK_ASSIGN_OR_RETURN(const DeviceAddress address,
                      engine_->Pin(storage, by, stream));
  Append(Action::kPin, storage);
  return address;
}

void RecordingEngine::Unpin(StorageId storage, Stream stream) {
  engine_->Unpin(storage, stream);
  Append(Action::kUnpin, storage);
}

absl::StatusOr<Engine::Writable> RecordingEngine::PinForWrite(StorageId storage,
                                                              const Label& by,
                                                              Stream stream) {
  RK_ASSIGN_OR_RETURN(const Engine::Writable writable,
                      engine_->PinForWrite(storage, by, stream));
  if (recording_) Append({Action::kWrite, storage, writable.storage, 0});
  return writable;
}

absl::Status RecordingEngine::Detach(StorageId storage) {
  RK_RETURN_IF_ERROR(engine_->Detach(storage));
  Append(Action::kDetach, storage);
  return absl::OkStatus();
}

absl::Status RecordingEngine::BeginStep() {
  RK_RETURN_IF_ERROR(engine_->DetachAll());
  if (recording_) {
    Append({Action::kDetachAll, StorageId(), StorageId(), 0});
    last_step_ = std::make_shared<const Step>(std::move(step_));
  }
  if (enabled_) Begin();
  return absl::OkStatus();
}

void RecordingEngine::Begin() {
  recording_ = true;
  step_ = Step();
  for (const StorageInfo& info : engine_->Storages()) {
    step_.initial.push_back({{info.id, info.bytes, info.kind, info.adopted},
                             info.references,
                             info.pins});
  }
}

void RecordingEngine::Append(Step::Operation operation) {
  step_.operations.push_back(operation);
  if (step_.operations.size() < kMostOperations) return;
  DiscardStep();
  step_ = Step();
}

void RecordingEngine::AppendConstant(Step::Constant constant) {
  if (!recording_) return;
  step_.constants.push_back(constant);
  Append({Action::kConstant, StorageId(), StorageId(),
          step_.constants.size() - 1});
}

}  // namespace rekindle::internal
