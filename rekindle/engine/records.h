// SPDX-License-Identifier: Apache-2.0
// The engine's own records of storages and calls. Internal to engine/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/engine/stream_clock.h"
#include "rekindle/engine/types.h"
#include "rekindle/evictor/node.h"

namespace rekindle {

struct Call;
struct Storage;

using StorageList = absl::InlinedVector<Storage*, 4>;

// Bytes on the device and how they are given back: to the allocator, or, if
// `release` is set, to whoever owns them.
struct Holding {
  Block block;
  std::function<void()> release = {};
  // Readers wait for the last write, writers for all uses, of which the last
  // write is one.
  StreamPoint written = {};
  StreamUses uses = {};

  void Written(const StreamPoint& point) {
    written = point;
    uses.Replace(point);
  }
};

// Node::evicted says whether `holding` is empty.
struct Storage : Node {
  Label label;
  Kind kind = Kind::kOther;
  int references = 0;
  int pins = 0;
  // The call that makes it; null for a constant.
  Call* producer = nullptr;
  Holding holding;

  // Calls that read it, and which of their parents it is.
  struct Use {
    Call* call;
    size_t parent;
  };
  absl::InlinedVector<Use, 2> uses;

  // Useful: evicted, and the program or a useful child will want it back.
  bool useful = false;
  int useful_children = 0;

  // Uses in the rest of the running plan, and the position of the next one.
  static constexpr int64_t kNoUse = std::numeric_limits<int64_t>::max();
  int64_t plan_uses = 0;
  int64_t next_use = kNoUse;
  size_t held_position = Node::kNowhere;  // in Residency's list

  // Released under the eager rule: its bytes go whoever may need them.
  bool discard = false;
  bool queued = false;  // in LineageGraph's queue of changed storages
  int64_t mark = 0;     // of the latest walk that met it

  // Which figures of EngineStats its bytes are in.
  struct Counted {
    bool live = false;
    bool resident = false;
    bool constant = false;
    bool pinned = false;
  };
  Counted counted;

  bool constant() const { return producer == nullptr; }
  bool resident() const { return !evicted; }
  DeviceAddress address() const { return holding.block.address; }
};

struct Call {
  CallId id;            // program order
  size_t position = 0;  // in LineageGraph's list
  Label label;

  // One a declared input; null where the call has an effect on it.
  StorageList inputs;

  // The distinct storages in `inputs`, and which of their uses this is. Empty
  // for a call that never runs again.
  struct Parent {
    Storage* storage;
    size_t use;
  };
  absl::InlinedVector<Parent, 3> parents;

  // The declared outputs, then the new versions of mutated inputs. Null once
  // nobody can need it.
  struct Output {
    Storage* storage;
    size_t bytes;
  };
  absl::InlinedVector<Output, 2> outputs;
  size_t live_outputs = 0;

  // Which input the last outputs are new versions of.
  absl::InlinedVector<int, 1> mutates;

  struct Effect {
    int input;
    size_t bytes;
  };
  absl::InlinedVector<Effect, 1> effects;

  size_t workspace_bytes = 0;
  double cost = 0;
  Executor execute;
  // Of the first run's outputs, if a Verifier looked at them.
  std::unique_ptr<std::vector<uint64_t>> output_hashes;
  int64_t mark = 0;
  int64_t depth = 0;  // in the latest plan: calls of the longest chain up to it

  size_t declared_outputs() const { return outputs.size() - mutates.size(); }
};

}  // namespace rekindle
