// SPDX-License-Identifier: Apache-2.0
// The operations of Engine, over its parts. Internal to engine/.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rekindle/engine/call_runner.h"
#include "rekindle/engine/engine.h"
#include "rekindle/engine/lineage_graph.h"
#include "rekindle/engine/program_pins.h"
#include "rekindle/engine/rematerializer.h"
#include "rekindle/engine/residency.h"

namespace rekindle {

// Contracts as in engine.h.
class Engine::Impl {
 public:
  Impl(Device& device, Allocator& allocator, std::unique_ptr<Policy> policy,
       const EngineOptions& options);

  absl::StatusOr<StorageId> AddConstant(size_t bytes, Kind kind, Label label);
  StorageId AdoptConstant(Holding holding, Kind kind, Label label);
  absl::StatusOr<CallResult> Run(CallSpec& spec);
  absl::Status Exhausted(const CallSpec& spec, absl::Span<const size_t> copies);
  void AddReference(StorageId id);
  void DropReference(StorageId id);
  absl::StatusOr<DeviceAddress> Pin(StorageId id, const Label& by,
                                    Stream stream);
  void Unpin(StorageId id, Stream stream);
  absl::StatusOr<Writable> PinForWrite(StorageId id, const Label& by,
                                       Stream stream);
  void StreamEnded(Stream stream);
  absl::Status Detach(StorageId id);
  absl::Status DetachAll();
  bool Evict(StorageId id);
  absl::Status SetBudget(size_t bytes);

  Storage& Get(StorageId id) const;
  std::vector<StorageInfo> Storages() const;
  EngineStats stats() const;
  void ResetPeak();
  const std::optional<Shortfall>& last_shortfall() const { return shortfall_; }
  void CheckInvariants() const;

 private:
  // Gives up what can be given up while more physical memory is in use. An
  // error: the device would not take all of it back.
  absl::Status EvictDownTo(size_t bytes);
  // Each storage once, in order of first appearance.
  static StorageList Distinct(absl::Span<Storage* const> storages);
  StorageList Inputs(const CallSpec& spec) const;
  // Referenced or pinned storages that would need the old value of a constant
  // that the call changes.
  StorageList Dependents(const CallSpec& spec,
                         absl::Span<Storage* const> inputs);

  // What becomes of old values that something still needs.
  enum class Old { kDetach, kKeep };
  // Runs the call while `dependents` are pinned, then makes constants of them.
  // False if it does not fit.
  absl::StatusOr<bool> RunDetaching(CallSpec& spec,
                                    absl::Span<Storage* const> inputs,
                                    absl::Span<Storage* const> dependents,
                                    CallResult& result);
  absl::StatusOr<bool> RunOnce(CallSpec& spec,
                               absl::Span<Storage* const> inputs, Old old,
                               CallResult& result);
  using UpdateList = std::vector<Update>;
  UpdateList Updates(const Call& call, const InputIndices& effects,
                     absl::Span<Storage* const> inputs, Old old);
  void Commit(Call& call, absl::Span<const Update> updates, bool lineage,
              CallResult& result);
  void Abandon(Call& call, absl::Span<const Update> updates);

  // Makes a storage resident and a constant. False if it does not fit.
  absl::StatusOr<bool> MakeConstant(Storage& storage);

  // engine_exhausted.cc
  // Records why `inputs` and then blocks of the sizes in `request` do not fit,
  // and returns the error.
  struct Request {
    Label label;
    StorageList inputs;
    std::vector<size_t> outputs;
    size_t workspace = 0;
  };
  absl::Status TooSmall(const Request& request);
  static Request RequestOf(const CallSpec& spec,
                           absl::Span<Storage* const> inputs);

  // Keeps EngineOptions::max_lineage_calls.
  void CutLineage();

  const EngineOptions options_;
  Device& device_;
  Allocator& allocator_;
  LineageGraph graph_;
  StreamClock clock_;
  Residency residency_;
  CallRunner runner_;
  Rematerializer rematerializer_;
  std::optional<Shortfall> shortfall_;
  ProgramPins pins_;
};

}  // namespace rekindle
