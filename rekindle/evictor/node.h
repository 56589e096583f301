// SPDX-License-Identifier: Apache-2.0
// What the evictor knows of a storage. The engine embeds a Node in its record
// of the storage, so that neither side looks anything up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/functional/function_ref.h"
#include "rekindle/base/ids.h"

namespace rekindle {

struct Node {
  StorageId id;
  size_t bytes = 0;
  // Cost of the call that makes it; the whole call, also if that has other
  // outputs.
  double cost = 0;
  // The engine's clock (total cost of all runs) at the last access.
  double last_access = 0;
  // Multiplies the score: above 1 for what the program would rather keep.
  double keep_factor = 1;
  // Given up only if there is nothing else.
  bool last_resort = false;
  bool evicted = false;

  // Private to the victim index and the policy.
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();
  size_t index_position = kNowhere;
  size_t component = kNowhere;
  size_t changed_position = kNowhere;
  int64_t upward_mark = 0;
  int64_t downward_mark = 0;
};

// The lineage around a storage, as the engine knows it.
class Lineage {
 public:
  virtual ~Lineage() = default;
  // The storages that the call making `node` reads, each once; and the outputs
  // of the calls that read `node`. Constants are visited too (never evicted).
  virtual void VisitParents(const Node& node,
                            absl::FunctionRef<void(Node&)> visit) const = 0;
  virtual void VisitChildren(const Node& node,
                             absl::FunctionRef<void(Node&)> visit) const = 0;
};

}  // namespace rekindle
