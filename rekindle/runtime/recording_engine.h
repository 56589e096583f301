// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/engine/engine.h"
#include "rekindle/engine/step.h"

namespace rekindle::internal {

// An engine whose steps are written down. Operations as in Engine; those that
// fail leave no trace. Costs an append (of a call: a copy of its description)
// an operation. Thread-compatible.
class RecordingEngine {
 public:
  RecordingEngine(std::unique_ptr<Engine> engine, bool record)
      : engine_(std::move(engine)), enabled_(record) {}

  absl::StatusOr<StorageId> AddConstant(size_t bytes, Kind kind, Label label);
  StorageId AdoptConstant(DeviceAddress address, size_t bytes, Kind kind,
                          Label label, std::function<void()> release);
  absl::StatusOr<CallResult> Run(CallSpec&& spec);
  void AddReference(StorageId storage);
  void DropReference(StorageId storage);
  absl::StatusOr<DeviceAddress> Pin(StorageId storage, const Label& by,
                                    Stream stream);
  void Unpin(StorageId storage, Stream stream);
  absl::StatusOr<Engine::Writable> PinForWrite(StorageId storage,
                                               const Label& by, Stream stream);
  absl::Status Detach(StorageId storage);

  // Detaches all; ends the step that is being written down, unless it was
  // discarded, and begins the next. If it fails, nothing is written down until
  // the next call.
  absl::Status BeginStep();
  // Forgets the step that is being written down: not all of it happened.
  void DiscardStep() { recording_ = false; }
  // The last whole step; null if there was none.
  std::shared_ptr<const Step> last_step() const { return last_step_; }

  // For what is no part of a step.
  Engine& engine() { return *engine_; }
  const Engine& engine() const { return *engine_; }

 private:
  // A program without BeginStep, or a step of so many operations, is not
  // written down.
  static constexpr size_t kMostOperations = size_t{1} << 22;

  void Append(Step::Operation operation);
  void Append(Step::Action action, StorageId storage) {
    if (recording_) Append({action, storage, StorageId(), 0});
  }
  void AppendConstant(Step::Constant constant);
  void Begin();

  const std::unique_ptr<Engine> engine_;
  const bool enabled_;
  bool recording_ = false;
  Step step_;
  std::shared_ptr<const Step> last_step_;
};

}  // namespace rekindle::internal
