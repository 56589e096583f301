// SPDX-License-Identifier: Apache-2.0
// Who was made from what, and what of it can still be needed. Internal to
// engine/. Knows nothing of addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "rekindle/base/pool.h"
#include "rekindle/engine/records.h"
#include "rekindle/engine/types.h"

namespace rekindle {

// Owns all records. A call lives while one of its outputs does; a storage lives
// while it has references, pins or uses by living calls.
//
// Whenever something changes that may decide the fate of a storage's bytes or
// record, the storage is queued; the owner of the bytes works the queue off
// with NextChanged(). No walk recurses: histories are millions of calls deep.
class LineageGraph : public Lineage {
 public:
  LineageGraph() = default;

  // A constant without bytes and references; it becomes another call's output
  // by AddCall only.
  Storage& AddStorage(size_t bytes, Kind kind, Label label);

  // Records a call with storages for its outputs, evicted as yet. Moves
  // `spec.execute`. `inputs` are the storages of spec.inputs. Without lineage,
  // the call has no parents: its outputs must be detached after it ran.
  Call& AddCall(CallSpec& spec, absl::Span<Storage* const> inputs,
                bool lineage);

  // Null for an id that was never given out or whose storage is gone.
  Storage* Find(StorageId id) const;

  void AddReference(Storage& storage);
  void DropReference(Storage& storage);

  // Makes a constant of a storage: its call is forgotten, at least by it.
  void Detach(Storage& storage);

  // To be called when `storage.evicted` has changed.
  void EvictedChanged(Storage& storage);

  // Queues a storage for NextChanged.
  void Changed(Storage& storage);
  // The next queued storage, taken from the queue; null if there is none.
  Storage* NextChanged();

  // True if nothing can ever need the record.
  static bool IsGarbage(const Storage& storage) {
    return storage.references == 0 && storage.pins == 0 && storage.uses.empty();
  }
  // Ends the record. REQUIRES: IsGarbage, evicted, not queued.
  void Remove(Storage& storage);

  // Ends the record of a call that has no outputs alive; for others, that
  // happens by itself.
  void RemoveCall(Call& call);

  // The calls that would make `wanted`, in program order: producers of what is
  // `missing`, of what they read and is missing, and so on.
  std::vector<Call*> CallsBehind(
      absl::Span<Storage* const> wanted,
      absl::FunctionRef<bool(const Storage&)> missing);

  // Referenced or pinned storages, oldest first, that would need `storage` to
  // be recomputed.
  std::vector<Storage*> LiveDependents(Storage& storage);

  // Oldest first.
  std::vector<Storage*> Storages() const;
  std::vector<StorageId> ReferencedWithLineage() const;
  size_t storage_count() const { return storages_.size(); }
  size_t call_count() const { return calls_.size(); }

  void VisitParents(const Node& node,
                    absl::FunctionRef<void(Node&)> visit) const override;
  void VisitChildren(const Node& node,
                     absl::FunctionRef<void(Node&)> visit) const override;

  void CheckInvariants() const;

 private:
  void LinkParent(Call& call, Storage& storage);
  void RefreshUseful(Storage& storage);
  void ForgetOutput(Storage& storage);

  Pool<Storage> storage_pool_;
  Pool<Call> call_pool_;
  absl::flat_hash_map<StorageId, Pool<Storage>::Pointer> storages_;
  std::vector<Pool<Call>::Pointer> calls_;
  std::vector<Storage*> changed_;
  int64_t next_storage_ = 0;
  int64_t next_call_ = 0;
  int64_t mark_ = 0;
};

}  // namespace rekindle
