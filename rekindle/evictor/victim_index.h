// SPDX-License-Identifier: Apache-2.0
// The set of storages that can be given up, and the best of them.
#pragma once

#include <cstddef>
#include <memory>

#include "rekindle/evictor/node.h"
#include "rekindle/evictor/policy.h"

namespace rekindle {

// Thread-compatible. Nodes are the caller's and stay where they are while they
// are in the index.
class VictimIndex {
 public:
  virtual ~VictimIndex() = default;

  // REQUIRES: not in the index / in the index.
  virtual void Insert(Node& node) = 0;
  virtual void Erase(Node& node) = 0;

  static bool Contains(const Node& node) {
    return node.index_position != Node::kNowhere;
  }

  // The score of a node in the index may have fallen. (That it rose need not
  // be said.)
  virtual void Improve(Node& node) = 0;

  // The node with the smallest score times keep_factor at `now` among those
  // that are no last resort, else among those that are; of equal ones the
  // largest, of equally large ones the youngest. Null if the index is empty.
  // The node stays. `now` never falls.
  virtual Node* Best(double now) = 0;

  virtual size_t size() const = 0;
};

// Which of two nodes of equal score is given up first.
inline bool WinsTie(const Node& a, const Node& b) {
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  return b.id < a.id;
}

// The fastest index for the policy, which must outlive it.
std::unique_ptr<VictimIndex> MakeVictimIndex(Policy& policy);

}  // namespace rekindle
