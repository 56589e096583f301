// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "rekindle/evictor/node.h"

namespace rekindle {

// Nodes and edges set by hand.
class ToyLineage : public Lineage {
 public:
  Node& Add(double cost, size_t bytes = 1, double last_access = 0) {
    Node& node = nodes_.emplace_back();
    node.id = StorageId(static_cast<int64_t>(nodes_.size()));
    node.cost = cost;
    node.bytes = bytes;
    node.last_access = last_access;
    return node;
  }
  void Link(Node& parent, Node& child) {
    children_[&parent].push_back(&child);
    parents_[&child].push_back(&parent);
  }
  void VisitParents(const Node& node,
                    absl::FunctionRef<void(Node&)> visit) const override {
    Visit(parents_, node, visit);
  }
  void VisitChildren(const Node& node,
                     absl::FunctionRef<void(Node&)> visit) const override {
    Visit(children_, node, visit);
  }

 private:
  using Edges = std::map<const Node*, std::vector<Node*>>;
  static void Visit(const Edges& edges, const Node& node,
                    absl::FunctionRef<void(Node&)> visit) {
    const auto found = edges.find(&node);
    if (found == edges.end()) return;
    for (Node* other : found->second) visit(*other);
  }

  std::deque<Node> nodes_;
  Edges parents_;
  Edges children_;
};

}  // namespace rekindle
