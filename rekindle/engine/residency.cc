// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/residency.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {

Residency::Residency(Allocator& allocator, LineageGraph& graph,
                     StreamClock& clock, std::unique_ptr<Policy> policy)
    : allocator_(allocator),
      graph_(graph),
      clock_(clock),
      policy_(std::move(policy)),
      index_(MakeVictimIndex(*policy_)) {
  policy_->Attach(graph_, *index_);
}

Residency::~Residency() {
  for (Storage* storage : graph_.Storages()) {
    if (storage->resident()) Free(std::move(storage->holding));
  }
}

void Residency::Place(Storage& storage, Holding holding) {
  RK_CHECK(storage.evicted, "already resident");
  storage.holding = std::move(holding);
  storage.evicted = false;
  storage.discard = false;
  const Block& block = storage.holding.block;
  if (block.movable) {
    movable_[block.address] = &storage;
    compact_ = true;
  }
  if (!storage.constant()) policy_->OnResident(storage);
  Accessed(storage);
  UpdateHeld(storage);
  Recount(storage);
  graph_.EvictedChanged(storage);
}

Holding Residency::Take(Storage& storage) {
  RK_CHECK(storage.resident(), "not resident");
  if (VictimIndex::Contains(storage)) index_->Erase(storage);
  storage.evicted = true;
  if (!storage.constant() && !LineageGraph::IsGarbage(storage)) {
    policy_->OnEvicted(storage);
  }
  UpdateHeld(storage);
  Recount(storage);
  graph_.EvictedChanged(storage);
  const Block& block = storage.holding.block;
  if (block.movable) movable_.erase(block.address);
  return std::exchange(storage.holding, Holding{});
}

// In this order `from` is never evicted while `to` still needs it, so that
// nothing behind it is taken for useful: a walk the length of its history.
void Residency::Transfer(Storage& from, Storage& to) {
  Place(to, std::exchange(from.holding, Holding{}));
  Take(from);
}

void Residency::Free(Holding holding) {
  if (holding.release) {
    // The owner goes on in the order of the default stream. If that cannot be
    // made to wait, the device has failed, and the next call says so.
    clock_.WaitAll(Stream(), holding.uses).IgnoreError();
    holding.release();
    return;
  }
  const StreamUses& uses = holding.uses;
  if (uses.others().empty() && uses.first().stream == Stream()) {
    return Free(holding.block, Stream());
  }
  std::vector<Stream> streams;
  const auto add = [this, &streams](const StreamPoint& use) {
    if (!clock_.HasEnded(use)) streams.push_back(use.stream);
  };
  add(uses.first());
  for (const StreamPoint& use : uses.others()) add(use);
  if (holding.block.movable) compact_ = true;
  allocator_.Free(holding.block, streams);
}

void Residency::Free(const Block& block, Stream stream) {
  if (block.movable) compact_ = true;
  allocator_.Free(block, stream);
}

void Residency::Pin(Storage& storage) {
  RK_CHECK(storage.resident(), "pinned while not resident");
  ++storage.pins;
  if (VictimIndex::Contains(storage)) index_->Erase(storage);
  Recount(storage);
}

void Residency::Unpin(Storage& storage) {
  RK_CHECK(storage.pins > 0, "unpinned twice");
  --storage.pins;
  if (storage.holding.block.movable) compact_ = true;
  graph_.Changed(storage);
}

void Residency::DropReference(Storage& storage) {
  graph_.DropReference(storage);
  if (policy_->release_rule() == ReleaseRule::kEager &&
      storage.references == 0) {
    storage.discard = true;
  }
  graph_.Changed(storage);
}

bool Residency::IsCandidate(const Storage& storage) {
  return storage.resident() && !storage.constant() && storage.pins == 0 &&
         storage.plan_uses == 0 && storage.bytes > 0;
}

bool Residency::IsUnneeded(const Storage& storage) {
  return IsCandidate(storage) && storage.references == 0 &&
         (storage.useful_children == 0 || storage.discard);
}

void Residency::UpdateIndex(Storage& storage) {
  const bool wanted = IsCandidate(storage);
  if (wanted == VictimIndex::Contains(storage)) return;
  if (wanted) {
    index_->Insert(storage);
  } else {
    index_->Erase(storage);
  }
}

void Residency::Settle() {
  while (Storage* storage = graph_.NextChanged()) {
    Recount(*storage);
    if (LineageGraph::IsGarbage(*storage) && storage->plan_uses == 0) {
      if (storage->resident()) {
        // Comes back through the queue, without bytes.
        Free(Take(*storage));
        continue;
      }
      policy_->OnForgotten(*storage);
      graph_.Remove(*storage);
    } else if (IsUnneeded(*storage)) {
      ++stats_.releases;
      Free(Take(*storage));
    } else {
      UpdateIndex(*storage);
    }
  }
}

absl::StatusOr<bool> Residency::Allocate(absl::Span<const size_t> sizes,
                                         Stream stream, Blocks& blocks) {
  auto unwind = absl::MakeCleanup([this, &blocks, stream] {
    while (!blocks.empty()) {
      Free(blocks.back(), stream);
      blocks.pop_back();
    }
  });
  for (size_t size : sizes) {
    bool asked_again = false;
    while (true) {
      RK_ASSIGN_OR_RETURN(std::optional<Block> block,
                          allocator_.Allocate(size, stream));
      if (block.has_value()) {
        blocks.push_back(*block);
        break;
      }
      RK_ASSIGN_OR_RETURN(const bool made_room, MakeRoom(size));
      if (made_room) continue;
      if (asked_again || !DeviceIsShort()) return false;
      allocator_.AskAgain();
      asked_again = true;
    }
  }
  std::move(unwind).Cancel();
  return true;
}

bool Residency::DeviceIsShort() const {
  const AllocatorStats stats = allocator_.stats();
  return stats.effective_budget < stats.budget;
}

// Blocks that no storage has yet are those of a running call, which, like all
// that is pinned, must stay.
class Residency::Mover : public BlockMover {
 public:
  explicit Mover(Residency& residency) : residency_(residency) {}

  bool CanMove(const Block& block) override {
    const auto found = residency_.movable_.find(block.address);
    if (found == residency_.movable_.end()) return false;
    const Storage& storage = *found->second;
    return storage.pins == 0 &&
           residency_.clock_.WaitAll(Stream(), storage.holding.uses).ok();
  }
  void Moved(const Block& from, const Block& to) override {
    auto node = residency_.movable_.extract(from.address);
    Storage* const storage = node.mapped();
    storage->holding.block = to;
    storage->holding.Written(residency_.clock_.Now(Stream()));
    residency_.movable_[to.address] = storage;
    ++residency_.stats_.moves;
  }

 private:
  Residency& residency_;
};

absl::StatusOr<size_t> Residency::Compact(size_t bytes) {
  if (!compact_) return 0;
  Mover mover(*this);
  RK_ASSIGN_OR_RETURN(const size_t gained, allocator_.Compact(bytes, mover));
  compact_ = gained > 0;
  if (gained > 0) ++stats_.compactions;
  return gained;
}

absl::StatusOr<bool> Residency::MakeRoom(size_t bytes) {
  const absl::StatusOr<size_t> gained = Compact(bytes);
  // A device too short of something to move blocks can still give them up.
  if (!gained.ok() && !absl::IsResourceExhausted(gained.status())) {
    return gained.status();
  }
  return (gained.ok() && *gained > 0) || EvictVictim();
}

bool Residency::EvictVictim() {
  if (Node* victim = index_->Best(now_)) {
    Evict(static_cast<Storage&>(*victim));
    return true;
  }
  Storage* held = HeldVictim();
  if (held == nullptr) return false;
  plan_broken_ = true;
  Evict(*held);
  return true;
}

void Residency::Evict(Storage& storage) {
  ++stats_.evictions;
  Free(Take(storage));
}

void Residency::EvictAll() {
  Settle();  // what was unpinned a moment ago is a victim too
  while (EvictVictim()) {
  }
  Settle();
}

Storage* Residency::HeldVictim() const {
  Storage* victim = nullptr;
  for (Storage* storage : held_) {
    if (storage->pins > 0 || storage->constant() || storage->bytes == 0) {
      continue;
    }
    const bool later =
        victim == nullptr || storage->next_use > victim->next_use ||
        (storage->next_use == victim->next_use && storage->id < victim->id);
    if (later) victim = storage;
  }
  return victim;
}

void Residency::SetPlanUse(Storage& storage, int64_t uses, int64_t next_use) {
  storage.plan_uses = uses;
  storage.next_use = next_use;
  if (uses > 0 && VictimIndex::Contains(storage)) index_->Erase(storage);
  UpdateHeld(storage);
  if (uses == 0) graph_.Changed(storage);
}

void Residency::UpdateHeld(Storage& storage) {
  const bool held = storage.resident() && storage.plan_uses > 0;
  if (held == (storage.held_position != Node::kNowhere)) return;
  if (held) {
    storage.held_position = held_.size();
    held_.push_back(&storage);
    return;
  }
  held_.back()->held_position = storage.held_position;
  held_[storage.held_position] = held_.back();
  held_.pop_back();
  storage.held_position = Node::kNowhere;
}

Storage::Counted Residency::Figures(const Storage& storage) {
  Storage::Counted figures;
  // Memory that the program lends us is not ours to count.
  if (storage.holding.release) return figures;
  figures.live = storage.references > 0 || storage.pins > 0;
  figures.resident = storage.resident();
  figures.constant = storage.resident() && storage.constant();
  figures.pinned =
      storage.resident() && !storage.constant() && storage.pins > 0;
  return figures;
}

void Residency::Recount(Storage& storage) {
  const size_t kind = static_cast<size_t>(storage.kind);
  const Storage::Counted figures = Figures(storage);
  const Storage::Counted before = std::exchange(storage.counted, figures);
  const auto count = [&storage](bool was, bool is, size_t& sum) {
    if (is == was) return;
    sum += is ? storage.bytes : size_t{0} - storage.bytes;
  };
  count(before.live, figures.live, stats_.live_bytes);
  count(before.resident, figures.resident, stats_.resident_bytes[kind]);
  count(before.constant, figures.constant, stats_.constant_bytes[kind]);
  count(before.pinned, figures.pinned, stats_.pinned_bytes);
}

void Residency::NotePeak(size_t transient) {
  stats_.peak_live_bytes =
      std::max(stats_.peak_live_bytes, stats_.live_bytes + transient);
}

void Residency::CheckInvariants() const {
  graph_.CheckInvariants();
  allocator_.CheckInvariants();
  EngineStats sums;
  size_t candidates = 0;
  size_t requested = 0;
  size_t movable = 0;
  for (const Storage* storage : graph_.Storages()) {
    const Storage::Counted figures = Figures(*storage);
    const size_t kind = static_cast<size_t>(storage->kind);
    if (figures.live) sums.live_bytes += storage->bytes;
    if (figures.resident) sums.resident_bytes[kind] += storage->bytes;
    if (figures.constant) sums.constant_bytes[kind] += storage->bytes;
    if (figures.pinned) sums.pinned_bytes += storage->bytes;
    if (storage->resident() && !storage->holding.release) {
      requested += storage->bytes;
    }
    RK_CHECK(IsCandidate(*storage) == VictimIndex::Contains(*storage), "index");
    RK_CHECK(!IsUnneeded(*storage), "bytes that nobody needs");
    RK_CHECK(!LineageGraph::IsGarbage(*storage), "record nobody needs");
    RK_CHECK(storage->resident() || storage->pins == 0, "pinned, no bytes");
    RK_CHECK(storage->resident() || !storage->constant(), "constant, no bytes");
    RK_CHECK(storage->plan_uses == 0 && !storage->queued, "left over");
    if (storage->resident() && storage->holding.block.movable) {
      const auto found = movable_.find(storage->address());
      RK_CHECK(found != movable_.end() && found->second == storage, "address");
      ++movable;
    }
    candidates += IsCandidate(*storage) ? 1 : 0;
  }
  RK_CHECK(candidates == index_->size(), "index size");
  RK_CHECK(movable == movable_.size(), "addresses of movable blocks");
  RK_CHECK(held_.empty(), "held outside a plan");
  RK_CHECK(sums.live_bytes == stats_.live_bytes, "live bytes");
  RK_CHECK(sums.resident_bytes == stats_.resident_bytes, "resident bytes");
  RK_CHECK(sums.constant_bytes == stats_.constant_bytes, "constant bytes");
  RK_CHECK(sums.pinned_bytes == stats_.pinned_bytes, "pinned bytes");
  RK_CHECK(requested == allocator_.stats().requested_bytes, "allocated bytes");
  RK_CHECK(allocator_.stats().physical_bytes <= allocator_.stats().budget ||
               allocator_.stats().physical_bytes ==
                   allocator_.stats().live_physical_bytes,
           "above the budget with something to give back");
}

}  // namespace rekindle
