// SPDX-License-Identifier: Apache-2.0
// The set of storages that can be given up, and the best of them.
#pragma once

#include <cstddef>
#include <vector>

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

  // The node with the smallest score times keep_factor at `now` among those
  // that are no last resort, else among those that are; of equal ones that
  // which was scored last. Null if the index is empty. The node stays.
  virtual Node* Best(Policy& policy, double now) = 0;

  virtual size_t size() const = 0;
};

// Scores every node at every question: O(n), exact for any policy.
class ScanIndex : public VictimIndex {
 public:
  void Insert(Node& node) override;
  void Erase(Node& node) override;
  Node* Best(Policy& policy, double now) override;
  size_t size() const override { return nodes_.size(); }

 private:
  std::vector<Node*> nodes_;
};

}  // namespace rekindle
