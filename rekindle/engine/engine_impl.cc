// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/engine_impl.h"

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/engine/validate.h"

namespace rekindle {
Engine::Impl::Impl(Device& device, Allocator& allocator,
                   std::unique_ptr<Policy> policy, const EngineOptions& options)
    : options_(options),
      device_(device),
      allocator_(allocator),
      clock_(device),
      residency_(allocator, graph_, clock_, std::move(policy)),
      runner_(device, residency_, options.verify),
      rematerializer_(graph_, residency_, runner_) {}

Storage& Engine::Impl::Get(StorageId id) const {
  Storage* storage = graph_.Find(id);
  RK_CHECK(storage != nullptr, "no storage has this id");
  return *storage;
}

absl::StatusOr<StorageId> Engine::Impl::AddConstant(size_t bytes, Kind kind,
                                                    Label label) {
  auto settle = absl::MakeCleanup([this] { residency_.Settle(); });
  shortfall_.reset();
  const size_t sizes[] = {bytes};
  Residency::Blocks blocks;
  RK_ASSIGN_OR_RETURN(const bool fits,
                      residency_.Allocate(sizes, Stream(), blocks));
  if (!fits) return TooSmall({std::move(label), {}, {bytes}, 0});
  Holding holding{blocks.front()};
  holding.Written(clock_.Now(Stream()));
  return AdoptConstant(std::move(holding), kind, std::move(label));
}

StorageId Engine::Impl::AdoptConstant(Holding holding, Kind kind, Label label) {
  Storage& storage =
      graph_.AddStorage(holding.block.bytes, kind, std::move(label));
  residency_.Place(storage, std::move(holding));
  graph_.AddReference(storage);
  residency_.Settle();
  residency_.NotePeak(0);
  return storage.id;
}

void Engine::Impl::AddReference(StorageId id) {
  graph_.AddReference(Get(id));
  residency_.Settle();
}

void Engine::Impl::DropReference(StorageId id) {
  Storage& storage = Get(id);
  residency_.DropReference(storage);
  residency_.Settle();
}

absl::StatusOr<DeviceAddress> Engine::Impl::Pin(StorageId id, const Label& by,
                                                Stream stream) {
  auto settle = absl::MakeCleanup([this] { residency_.Settle(); });
  shortfall_.reset();
  Storage& storage = Get(id);
  Storage* const targets[] = {&storage};
  RK_ASSIGN_OR_RETURN(const bool fits, rematerializer_.PinAll(targets, stream));
  if (!fits) return TooSmall({by, {&storage}, {}, 0});
  const absl::Status ordered = clock_.Wait(stream, storage.holding.written);
  if (!ordered.ok()) {
    residency_.Unpin(storage);
    return ordered;
  }
  residency_.Accessed(storage);
  pins_.Add(id, by, stream);
  return storage.address();
}

void Engine::Impl::Unpin(StorageId id, Stream stream) {
  Storage& storage = Get(id);
  const StreamPoint now = clock_.Now(stream);
  if (pins_.Remove(id, stream).writes) {
    storage.holding.Written(now);
  } else {
    storage.holding.uses.Add(now);
  }
  residency_.Unpin(storage);
  residency_.Settle();
  const AllocatorStats stats = allocator_.stats();
  if (stats.physical_bytes <= stats.budget) return;
  // A device that refuses twice: there is nobody to tell.
  EvictDownTo(stats.budget).IgnoreError();
}

void Engine::Impl::StreamEnded(Stream stream) {
  clock_.Ended(stream);
  allocator_.StreamEnded(stream);
}

absl::StatusOr<bool> Engine::Impl::MakeConstant(Storage& storage) {
  if (storage.constant()) return true;
  Storage* const targets[] = {&storage};
  RK_ASSIGN_OR_RETURN(const bool fits,
                      rematerializer_.PinAll(targets, Stream()));
  if (!fits) return false;
  graph_.Detach(storage);
  residency_.Unpin(storage);
  residency_.Settle();
  return true;
}

absl::Status Engine::Impl::Detach(StorageId id) {
  auto settle = absl::MakeCleanup([this] { residency_.Settle(); });
  shortfall_.reset();
  Storage& storage = Get(id);
  RK_ASSIGN_OR_RETURN(const bool fits, MakeConstant(storage));
  if (!fits) return TooSmall({storage.label, {&storage}, {}, 0});
  return absl::OkStatus();
}

absl::Status Engine::Impl::DetachAll() {
  for (StorageId id : graph_.ReferencedWithLineage()) {
    RK_RETURN_IF_ERROR(Detach(id));
  }
  return absl::OkStatus();
}

// Oldest first: what was carried here from earlier is older than what was
// computed from it, and holds all the history behind it. An error leaves the
// rest as it was: the call before is done, and the next one will meet it.
void Engine::Impl::CutLineage() {
  const auto most = static_cast<size_t>(options_.max_lineage_calls);
  if (most == 0 || graph_.call_count() <= most) return;
  for (StorageId id : graph_.ReferencedWithLineage()) {
    if (graph_.call_count() <= most / 2) break;
    if (!MakeConstant(Get(id)).ok()) break;
  }
}

bool Engine::Impl::Evict(StorageId id) {
  Storage& storage = Get(id);
  if (!VictimIndex::Contains(storage)) return false;
  residency_.Evict(storage);
  residency_.Settle();
  return true;
}

absl::Status Engine::Impl::SetBudget(size_t bytes) {
  RK_RETURN_IF_ERROR(allocator_.SetBudget(bytes));
  return EvictDownTo(bytes);
}

absl::Status Engine::Impl::EvictDownTo(size_t bytes) {
  while (residency_.held_bytes() > bytes) {
    const absl::StatusOr<bool> less =
        residency_.MakeRoom(residency_.held_bytes() - bytes);
    // What a failed copy leaves in place can still be given up.
    if (less.ok() ? !*less : !residency_.EvictVictim()) break;
  }
  residency_.Settle();
  const AllocatorStats stats = allocator_.stats();
  if (stats.physical_bytes <= std::max(bytes, stats.live_physical_bytes)) {
    return absl::OkStatus();
  }
  // The device would not take back what was given up; a Free cannot say so.
  return allocator_.SetBudget(bytes);
}

absl::StatusOr<Engine::Writable> Engine::Impl::PinForWrite(StorageId id,
                                                           const Label& by,
                                                           Stream stream) {
  auto settle = absl::MakeCleanup([this] { residency_.Settle(); });
  Storage& storage = Get(id);
  if (!storage.constant()) {
    return absl::FailedPreconditionError(absl::StrCat(
        ToString(storage.label),
        " was computed; only a constant can be written to (Detach it first)"));
  }
  // A call without outputs that mutates it does all that is needed.
  CallSpec spec;
  spec.label = by;
  spec.inputs = {id};
  spec.mutates = {0};
  spec.stream = stream;
  RK_ASSIGN_OR_RETURN(const CallResult result, Run(spec));
  RK_ASSIGN_OR_RETURN(const DeviceAddress address,
                      Pin(result.updated.front(), by, stream));
  pins_.SetWrites(result.updated.front());
  return Writable{result.updated.front(), address};
}

StorageList Engine::Impl::Distinct(absl::Span<Storage* const> storages) {
  StorageList distinct;
  for (Storage* storage : storages) {
    if (std::find(distinct.begin(), distinct.end(), storage) ==
        distinct.end()) {
      distinct.push_back(storage);
    }
  }
  return distinct;
}

StorageList Engine::Impl::Inputs(const CallSpec& spec) const {
  StorageList inputs;
  for (StorageId id : spec.inputs) inputs.push_back(&Get(id));
  return inputs;
}

StorageList Engine::Impl::Dependents(const CallSpec& spec,
                                     absl::Span<Storage* const> inputs) {
  StorageList dependents;
  for (int index : ChangedInputs(spec)) {
    Storage& storage = *inputs[static_cast<size_t>(index)];
    if (!storage.constant() || storage.uses.empty()) continue;
    for (Storage* dependent : graph_.LiveDependents(storage)) {
      dependents.push_back(dependent);
    }
  }
  return Distinct(dependents);
}

absl::StatusOr<CallResult> Engine::Impl::Run(CallSpec& spec) {
  auto settle = absl::MakeCleanup([this] { residency_.Settle(); });
  shortfall_.reset();
  RK_RETURN_IF_ERROR(Validate(spec, graph_));
  const StorageList inputs = Inputs(spec);
  CallResult result;
  bool done = false;
  const StorageList dependents = Dependents(spec, inputs);
  if (!dependents.empty()) {
    residency_.stats().rescues +=
        std::count_if(dependents.begin(), dependents.end(),
                      [](const Storage* storage) { return storage->evicted; });
    RK_ASSIGN_OR_RETURN(done, RunDetaching(spec, inputs, dependents, result));
  }
  if (!done) {
    RK_ASSIGN_OR_RETURN(done, RunOnce(spec, inputs, Old::kKeep, result));
  }
  if (!done) return TooSmall(RequestOf(spec, inputs));
  // Only after success: a call that did not fit would find more constants, and
  // less room, when it is tried again.
  CutLineage();
  return result;
}

absl::StatusOr<bool> Engine::Impl::RunDetaching(
    CallSpec& spec, absl::Span<Storage* const> inputs,
    absl::Span<Storage* const> dependents, CallResult& result) {
  RK_ASSIGN_OR_RETURN(const bool fit,
                      rematerializer_.PinAll(dependents, spec.stream));
  if (!fit) return false;
  const absl::StatusOr<bool> done = RunOnce(spec, inputs, Old::kDetach, result);
  for (Storage* dependent : dependents) {
    if (done.ok() && *done) graph_.Detach(*dependent);
    residency_.Unpin(*dependent);
  }
  return done;
}

absl::StatusOr<bool> Engine::Impl::RunOnce(CallSpec& spec,
                                           absl::Span<Storage* const> inputs,
                                           Old old, CallResult& result) {
  const StorageList distinct = Distinct(inputs);
  RK_ASSIGN_OR_RETURN(const bool resident,
                      rematerializer_.PinAll(distinct, spec.stream));
  if (!resident) return false;
  bool lineage = spec.pure;
  for (int index : spec.mutates) {
    lineage = lineage && !inputs[static_cast<size_t>(index)]->constant();
  }
  Call& call = graph_.AddCall(spec, inputs, lineage);
  const UpdateList updates = Updates(call, spec.effects, inputs, old);
  const absl::StatusOr<bool> done =
      runner_.RunFirst(call, updates, spec.stream);
  if (done.ok() && *done) {
    Commit(call, updates, lineage, result);
  } else {
    spec.execute = std::move(call.execute);
    Abandon(call, updates);
  }
  for (Storage* input : distinct) residency_.Unpin(*input);
  return done;
}

Engine::Impl::UpdateList Engine::Impl::Updates(
    const Call& call, const InputIndices& effects,
    absl::Span<Storage* const> inputs, Old old) {
  UpdateList updates;
  const auto add = [&](int input, Storage* to) {
    Storage& from = *inputs[static_cast<size_t>(input)];
    if (to == nullptr)
      to = &graph_.AddStorage(from.bytes, from.kind, from.label);
    const bool keep_old =
        old == Old::kKeep && from.constant() && !from.uses.empty();
    updates.push_back({input, &from, to, keep_old});
  };
  for (size_t i = 0; i < call.mutates.size(); ++i) {
    add(call.mutates[i], call.outputs[call.declared_outputs() + i].storage);
  }
  for (int input : effects) add(input, nullptr);
  return updates;
}

void Engine::Impl::Commit(Call& call, absl::Span<const Update> updates,
                          bool lineage, CallResult& result) {
  StorageList made;
  for (size_t i = 0; i < call.declared_outputs(); ++i) {
    made.push_back(call.outputs[i].storage);
    result.outputs.push_back(made.back()->id);
  }
  for (const Update& update : updates) {
    made.push_back(update.to);
    result.updated.push_back(update.to->id);
  }
  for (Storage* storage : made) graph_.AddReference(*storage);
  if (call.outputs.empty()) {
    graph_.RemoveCall(call);
  } else if (!lineage) {
    for (Storage* storage : made) graph_.Detach(*storage);
  }
}

void Engine::Impl::Abandon(Call& call, absl::Span<const Update> updates) {
  // Nothing refers to the new storages; the queue ends them and the call.
  for (const Update& update : updates) graph_.Changed(*update.to);
  for (const Call::Output& output : call.outputs) {
    graph_.Changed(*output.storage);
  }
  if (call.outputs.empty()) graph_.RemoveCall(call);
}

std::vector<StorageInfo> Engine::Impl::Storages() const {
  std::vector<StorageInfo> infos;
  for (const Storage* storage : graph_.Storages()) {
    infos.push_back({storage->label, storage->kind, storage->bytes,
                     storage->resident(), storage->constant(),
                     storage->references, storage->pins, storage->id,
                     storage->holding.release != nullptr, storage->address()});
  }
  return infos;
}

EngineStats Engine::Impl::stats() const {
  EngineStats stats = residency_.stats();
  stats.storages = static_cast<int64_t>(graph_.storage_count());
  stats.lineage_calls = static_cast<int64_t>(graph_.call_count());
  return stats;
}

void Engine::Impl::ResetPeak() {
  residency_.stats().peak_live_bytes = residency_.stats().live_bytes;
}

void Engine::Impl::CheckInvariants() const {
  residency_.CheckInvariants();
  const MemoryInfo memory = device_.memory_info();
  RK_CHECK(memory.created >= allocator_.stats().physical_bytes,
           "the allocator counts memory that the device did not give");
}

}  // namespace rekindle
