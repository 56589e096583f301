// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/lineage_graph.h"

#include <algorithm>
#include <utility>

#include "rekindle/base/check.h"

namespace rekindle {
namespace {

double KeepFactor(Keep keep) {
  switch (keep) {
    case Keep::kDefault:
      return 1;
    case Keep::kCheap:
      return 1.0 / 16;
    case Keep::kRatherNot:
      return 16;
    case Keep::kNever:
      return 1;  // a last resort
  }
  return 1;
}

bool IsUseful(const Storage& storage) {
  return storage.evicted &&
         (storage.references > 0 || storage.useful_children > 0);
}

template <typename Record>
void SortByAge(std::vector<Record*>& records) {
  std::sort(records.begin(), records.end(),
            [](const Record* a, const Record* b) { return a->id < b->id; });
}

}  // namespace

Storage& LineageGraph::AddStorage(size_t bytes, Kind kind, Label label) {
  Pool<Storage>::Pointer storage = storage_pool_.New();
  storage->id = StorageId(next_storage_++);
  storage->bytes = bytes;
  storage->evicted = true;
  storage->kind = kind;
  storage->label = std::move(label);
  Storage& added = *storage;
  storages_.emplace(added.id, std::move(storage));
  return added;
}

void LineageGraph::LinkParent(Call& call, Storage& storage) {
  for (const Call::Parent& parent : call.parents) {
    if (parent.storage == &storage) return;
  }
  storage.uses.push_back({&call, call.parents.size()});
  call.parents.push_back({&storage, storage.uses.size() - 1});
}

Call& LineageGraph::AddCall(CallSpec& spec, absl::Span<Storage* const> inputs,
                            bool lineage) {
  calls_.push_back(call_pool_.New());
  Call& call = *calls_.back();
  call.position = calls_.size() - 1;
  call.id = CallId(next_call_++);
  call.label = spec.label;
  call.inputs.assign(inputs.begin(), inputs.end());
  for (int index : spec.effects) {
    Storage*& input = call.inputs[static_cast<size_t>(index)];
    call.effects.push_back({index, input->bytes});
    input = nullptr;
  }
  if (lineage) {
    for (Storage* input : call.inputs) {
      if (input != nullptr) LinkParent(call, *input);
    }
  }
  call.mutates.assign(spec.mutates.begin(), spec.mutates.end());
  call.workspace_bytes = spec.workspace_bytes;
  call.cost = spec.cost;
  call.execute = std::move(spec.execute);

  const auto add_output = [&](size_t bytes, Kind kind, const Label& label) {
    Storage& output = AddStorage(bytes, kind, label);
    output.producer = &call;
    output.cost = std::max(0.0, call.cost);
    output.keep_factor = KeepFactor(spec.keep);
    output.last_resort = spec.keep == Keep::kNever;
    call.outputs.push_back({&output, bytes});
    ++call.live_outputs;
  };
  for (size_t bytes : spec.output_bytes) {
    add_output(bytes, spec.output_kind, call.label);
  }
  for (int index : call.mutates) {
    const Storage& old = *inputs[static_cast<size_t>(index)];
    add_output(old.bytes, old.kind, old.label);
  }
  return call;
}

Storage* LineageGraph::Find(StorageId id) const {
  const auto found = storages_.find(id);
  return found == storages_.end() ? nullptr : found->second.get();
}

void LineageGraph::AddReference(Storage& storage) {
  ++storage.references;
  RefreshUseful(storage);
  Changed(storage);
}

void LineageGraph::DropReference(Storage& storage) {
  RK_CHECK(storage.references > 0, "reference dropped twice");
  --storage.references;
  RefreshUseful(storage);
  Changed(storage);
}

void LineageGraph::EvictedChanged(Storage& storage) {
  RefreshUseful(storage);
  Changed(storage);
}

void LineageGraph::RefreshUseful(Storage& start) {
  if (IsUseful(start) == start.useful) return;
  std::vector<Storage*> pending = {&start};
  while (!pending.empty()) {
    Storage& storage = *pending.back();
    pending.pop_back();
    const bool useful = IsUseful(storage);
    if (useful == storage.useful) continue;
    storage.useful = useful;
    if (storage.producer == nullptr) continue;
    for (const Call::Parent& parent : storage.producer->parents) {
      parent.storage->useful_children += useful ? 1 : -1;
      Changed(*parent.storage);
      if (parent.storage->evicted) pending.push_back(parent.storage);
    }
  }
}

void LineageGraph::Changed(Storage& storage) {
  if (storage.queued) return;
  storage.queued = true;
  changed_.push_back(&storage);
}

Storage* LineageGraph::NextChanged() {
  if (changed_.empty()) return nullptr;
  Storage* storage = changed_.back();
  changed_.pop_back();
  storage->queued = false;
  return storage;
}

void LineageGraph::ForgetOutput(Storage& storage) {
  Call& call = *storage.producer;
  storage.producer = nullptr;
  for (Call::Output& output : call.outputs) {
    if (output.storage == &storage) output.storage = nullptr;
  }
  if (--call.live_outputs == 0) RemoveCall(call);
}

void LineageGraph::RemoveCall(Call& call) {
  RK_CHECK(call.live_outputs == 0, "outputs alive");
  for (const Call::Parent& parent : call.parents) {
    auto& uses = parent.storage->uses;
    uses[parent.use] = uses.back();
    uses[parent.use].call->parents[uses[parent.use].parent].use = parent.use;
    uses.pop_back();
    Changed(*parent.storage);
  }
  // The record must not be in the list when its kernel, whose end can do
  // anything, goes.
  const Pool<Call>::Pointer ended = std::move(calls_[call.position]);
  if (calls_.back() != nullptr) {
    calls_.back()->position = call.position;
    calls_[call.position] = std::move(calls_.back());
  }
  calls_.pop_back();
}

void LineageGraph::Detach(Storage& storage) {
  if (storage.producer == nullptr) return;
  RK_CHECK(!storage.useful, "a useful storage is needed with its lineage");
  ForgetOutput(storage);
  Changed(storage);
}

void LineageGraph::Remove(Storage& storage) {
  RK_CHECK(IsGarbage(storage) && storage.evicted && !storage.queued,
           "removed too early");
  if (storage.producer != nullptr) ForgetOutput(storage);
  RK_CHECK(!storage.queued, "a call cannot read its own output");
  storages_.erase(storage.id);
}

std::vector<Call*> LineageGraph::CallsBehind(
    absl::Span<Storage* const> wanted,
    absl::FunctionRef<bool(const Storage&)> missing) {
  ++mark_;
  std::vector<Call*> calls;
  std::vector<Storage*> pending(wanted.begin(), wanted.end());
  while (!pending.empty()) {
    Storage& storage = *pending.back();
    pending.pop_back();
    if (!missing(storage)) continue;
    Call& call = *storage.producer;
    if (call.mark == mark_) continue;
    call.mark = mark_;
    calls.push_back(&call);
    for (const Call::Parent& parent : call.parents) {
      pending.push_back(parent.storage);
    }
  }
  SortByAge(calls);
  return calls;
}

std::vector<Storage*> LineageGraph::LiveDependents(Storage& start) {
  ++mark_;
  std::vector<Storage*> live;
  std::vector<Storage*> pending = {&start};
  while (!pending.empty()) {
    Storage& storage = *pending.back();
    pending.pop_back();
    if (storage.mark == mark_) continue;
    storage.mark = mark_;
    if (&storage != &start && (storage.references > 0 || storage.pins > 0)) {
      live.push_back(&storage);
    }
    for (const Storage::Use& use : storage.uses) {
      for (const Call::Output& output : use.call->outputs) {
        if (output.storage != nullptr) pending.push_back(output.storage);
      }
    }
  }
  SortByAge(live);
  return live;
}

std::vector<Storage*> LineageGraph::Storages() const {
  std::vector<Storage*> storages;
  storages.reserve(storages_.size());
  for (const auto& [id, storage] : storages_) storages.push_back(storage.get());
  SortByAge(storages);
  return storages;
}

std::vector<StorageId> LineageGraph::ReferencedWithLineage() const {
  std::vector<StorageId> ids;
  for (const auto& [id, storage] : storages_) {
    if (storage->references > 0 && !storage->constant()) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void LineageGraph::VisitParents(const Node& node,
                                absl::FunctionRef<void(Node&)> visit) const {
  const Storage& storage = static_cast<const Storage&>(node);
  if (storage.producer == nullptr) return;
  for (const Call::Parent& parent : storage.producer->parents) {
    visit(*parent.storage);
  }
}

void LineageGraph::VisitChildren(const Node& node,
                                 absl::FunctionRef<void(Node&)> visit) const {
  const Storage& storage = static_cast<const Storage&>(node);
  for (const Storage::Use& use : storage.uses) {
    for (const Call::Output& output : use.call->outputs) {
      if (output.storage != nullptr) visit(*output.storage);
    }
  }
}

void LineageGraph::CheckInvariants() const {
  for (const auto& [id, storage] : storages_) {
    int useful_children = 0;
    VisitChildren(*storage, [&useful_children](Node& child) {
      useful_children += static_cast<Storage&>(child).useful ? 1 : 0;
    });
    RK_CHECK(useful_children == storage->useful_children, "useful children");
    RK_CHECK(storage->useful == IsUseful(*storage), "useful flag");
    RK_CHECK(storage->references >= 0 && storage->pins >= 0, "counts");
    for (size_t i = 0; i < storage->uses.size(); ++i) {
      const Storage::Use& use = storage->uses[i];
      const Call::Parent& parent = use.call->parents[use.parent];
      RK_CHECK(parent.storage == storage.get() && parent.use == i, "links");
    }
  }
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Call* const call = calls_[i].get();
    RK_CHECK(call->position == i, "position");
    size_t live = 0;
    for (const Call::Output& output : call->outputs) {
      if (output.storage == nullptr) continue;
      ++live;
      RK_CHECK(output.storage->producer == call, "producer");
    }
    RK_CHECK(live == call->live_outputs && live > 0, "live outputs");
  }
}

}  // namespace rekindle
