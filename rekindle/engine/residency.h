// SPDX-License-Identifier: Apache-2.0
// Which storages have bytes, and making room for more. Internal to engine/.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/engine/lineage_graph.h"
#include "rekindle/engine/records.h"
#include "rekindle/engine/stream_clock.h"
#include "rekindle/engine/types.h"
#include "rekindle/evictor/policy.h"
#include "rekindle/evictor/victim_index.h"

namespace rekindle {

// Only Place and Take move a storage between resident and evicted. All other
// changes go through the graph's queue, which Settle works off: it frees what
// nobody needs, ends records, and keeps the victim index equal to the set of
// storages that can be given up.
class Residency {
 public:
  Residency(Allocator& allocator, LineageGraph& graph, StreamClock& clock,
            std::unique_ptr<Policy> policy);
  ~Residency();

  // Gives an evicted storage its bytes.
  void Place(Storage& storage, Holding holding);
  // Takes the bytes of a resident storage away and returns them. The storage
  // is evicted now; a constant must be about to be removed.
  Holding Take(Storage& storage);
  // Hands the bytes of a resident storage on to an evicted one.
  void Transfer(Storage& from, Storage& to);
  void Free(Holding holding);
  // Frees what only work of one stream has used.
  void Free(const Block& block, Stream stream);

  // A pinned storage stays resident where it is. REQUIRES: resident.
  void Pin(Storage& storage);
  void Unpin(Storage& storage);

  // Drops a reference, by the policy's release rule.
  void DropReference(Storage& storage);

  // Brings everything in order after changes in the graph.
  void Settle();

  // Adds one block a size to `blocks`, for work of `stream`; makes room until
  // all fit. False if they cannot: then everything that could be given up was,
  // and nothing is allocated. Errors: of the device.
  using Blocks = absl::InlinedVector<Block, 4>;
  absl::StatusOr<bool> Allocate(absl::Span<const size_t> sizes, Stream stream,
                                Blocks& blocks);
  // Moves small blocks together, or, if that gains nothing, gives up a victim.
  // (Moving costs some copies, a victim must be computed again.) Not all of
  // `bytes` need be free then. False if neither can be; errors: of a copy.
  absl::StatusOr<bool> MakeRoom(size_t bytes);
  // Gives up whatever can be.
  void EvictAll();
  // Gives up the victim of the policy; or, if only storages are left that the
  // running plan will read again, the one that it reads last (and says so in
  // plan_broken). False if there is none.
  bool EvictVictim();
  void Evict(Storage& storage);

  // Keeps a storage that the running plan reads at `next_use` and then
  // `uses` - 1 times more from being freed, and last among the victims.
  void SetPlanUse(Storage& storage, int64_t uses, int64_t next_use);
  // Whether a storage that the plan still needed was given up.
  bool plan_broken() const { return plan_broken_; }
  void set_plan_broken(bool broken) { plan_broken_ = broken; }

  // The engine's clock: total cost of all runs.
  void Advance(double cost) { now_ += cost; }
  void Accessed(Storage& storage) { storage.last_access = now_; }

  // Physical memory under all blocks now live.
  size_t held_bytes() const { return allocator_.stats().live_physical_bytes; }
  Allocator& allocator() { return allocator_; }
  StreamClock& clock() { return clock_; }
  EngineStats& stats() { return stats_; }
  const EngineStats& stats() const { return stats_; }
  // Counts `transient` bytes on top of the live ones for the peak.
  void NotePeak(size_t transient);

  void CheckInvariants() const;

 private:
  class Mover;

  absl::StatusOr<size_t> Compact(size_t bytes);
  bool DeviceIsShort() const;
  static bool IsCandidate(const Storage& storage);
  static bool IsUnneeded(const Storage& storage);
  static Storage::Counted Figures(const Storage& storage);
  void Recount(Storage& storage);
  void UpdateIndex(Storage& storage);
  void UpdateHeld(Storage& storage);
  Storage* HeldVictim() const;

  Allocator& allocator_;
  LineageGraph& graph_;
  StreamClock& clock_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<VictimIndex> index_;
  std::vector<Storage*> held_;  // resident, and still read by the plan
  bool plan_broken_ = false;
  // Who lies where, of those whose block is movable: a hash operation when one
  // gets or loses its bytes.
  absl::flat_hash_map<DeviceAddress, Storage*> movable_;
  // False if compacting gained nothing, and no movable block was placed, freed
  // or unpinned since.
  bool compact_ = true;
  double now_ = 0;
  EngineStats stats_;
};

}  // namespace rekindle
