// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/evicted_components.h"

#include <algorithm>

#include "rekindle/base/check.h"

namespace rekindle {

size_t EvictedComponents::Find(size_t entry) {
  size_t root = entry;
  while (entries_[root].parent != root) root = entries_[root].parent;
  while (entries_[entry].parent != root) {
    const size_t next = entries_[entry].parent;
    entries_[entry].parent = root;
    entry = next;
  }
  return root;
}

void EvictedComponents::Unite(size_t a, size_t b) {
  size_t root = Find(a);
  size_t child = Find(b);
  if (root == child) return;
  if (entries_[root].members < entries_[child].members) std::swap(root, child);
  entries_[root].cost += entries_[child].cost;
  entries_[root].members += entries_[child].members;
  entries_[child].parent = root;
}

size_t EvictedComponents::NewEntry(double cost) {
  size_t entry = entries_.size();
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    entry = free_.back();
    free_.pop_back();
  }
  entries_[entry] = {entry, cost, 1, true, true};
  ++live_;
  return entry;
}

void EvictedComponents::Add(Node& node, const Lineage& lineage) {
  RK_CHECK(!Contains(node), "evicted twice");
  node.component = NewEntry(node.cost);
  const auto join = [this, &node](Node& other) {
    if (Contains(other)) Unite(node.component, other.component);
  };
  lineage.VisitParents(node, join);
  lineage.VisitChildren(node, join);
}

void EvictedComponents::Remove(Node& node) {
  RK_CHECK(Contains(node), "not evicted");
  Entry& root = entries_[Find(node.component)];
  // Rounding must not leave a negative cost behind.
  root.cost = std::max(0.0, root.cost - node.cost);
  --root.members;
  entries_[node.component].live = false;
  node.component = Node::kNowhere;
  --live_;
  ++dead_;
  constexpr size_t kSlack = 64;
  if (dead_ > 2 * live_ + kSlack) Compact();
}

void EvictedComponents::Compact() {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].used) Find(i);
  }
  // Every entry now points at its root, so a dead one that is no root, or the
  // root of nobody, is not reached by any other.
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const bool needed_root = entry.parent == i && entry.members > 0;
    if (!entry.used || entry.live || needed_root) continue;
    entry.used = false;
    free_.push_back(i);
    --dead_;
  }
}

double EvictedComponents::NeighbourCost(const Node& node,
                                        const Lineage& lineage) {
  absl::InlinedVector<size_t, 8> roots;
  double cost = 0;
  const auto add = [this, &roots, &cost](Node& other) {
    if (!Contains(other)) return;
    const size_t root = Find(other.component);
    if (std::find(roots.begin(), roots.end(), root) != roots.end()) return;
    roots.push_back(root);
    cost += entries_[root].cost;
  };
  lineage.VisitParents(node, add);
  lineage.VisitChildren(node, add);
  return cost;
}

}  // namespace rekindle
