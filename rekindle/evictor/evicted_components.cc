// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/evicted_components.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
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
  std::swap(entries_[root].next, entries_[child].next);  // joins the rings
  if (entries_[child].cheaper) MarkCheaper(root);
}

size_t EvictedComponents::NewEntry(Node& node) {
  size_t entry = entries_.size();
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    entry = free_.back();
    free_.pop_back();
  }
  entries_[entry] = {entry, node.cost, 1, entry, &node, true, false};
  ++live_;
  return entry;
}

void EvictedComponents::OnEvicted(Node& node) {
  RK_CHECK(!Contains(node), "evicted twice");
  node.component = NewEntry(node);
  const auto join = [this, &node](Node& other) {
    if (Contains(other)) Unite(node.component, other.component);
  };
  lineage().VisitParents(node, join);
  lineage().VisitChildren(node, join);
}

void EvictedComponents::MarkCheaper(size_t root) {
  if (entries_[root].cheaper) return;
  entries_[root].cheaper = true;
  cheaper_.push_back(root);
}

void EvictedComponents::OnResident(Node& node) {
  if (!Contains(node)) return;
  const size_t index = Find(node.component);
  Entry& root = entries_[index];
  // Rounding must not leave a negative cost behind.
  root.cost = std::max(0.0, root.cost - node.cost);
  --root.members;
  MarkCheaper(index);
  entries_[node.component].node = nullptr;
  node.component = Node::kNowhere;
  --live_;
  ++dead_;
  // They may have no other way to the component.
  ImproveAround(node);
  constexpr size_t kSlack = 64;
  if (dead_ > 2 * live_ + kSlack) Compact();
}

void EvictedComponents::ImproveAround(const Node& node) {
  const auto improve = [this](Node& other) { ImproveIfCandidate(other); };
  lineage().VisitParents(node, improve);
  lineage().VisitChildren(node, improve);
}

void EvictedComponents::Refresh() {
  for (const size_t start : std::exchange(cheaper_, {})) {
    entries_[Find(start)].cheaper = false;
    size_t entry = start;
    do {
      if (entries_[entry].node != nullptr) ImproveAround(*entries_[entry].node);
      entry = entries_[entry].next;
    } while (entry != start);
  }
}

void EvictedComponents::Compact() {
  constexpr size_t kNone = Node::kNowhere;
  first_.assign(entries_.size(), kNone);
  cheaper_.clear();
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].used) Find(i);
  }
  // Every entry now points at its root, so a dead one that is no root, or the
  // root of nobody, is not reached by any other.
  for (size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!entry.used) continue;
    const bool needed_root = entry.parent == i && entry.members > 0;
    if (entry.node == nullptr && !needed_root) {
      entry.used = false;
      free_.push_back(i);
      --dead_;
      continue;
    }
    if (needed_root && entry.cheaper) cheaper_.push_back(i);
    size_t& start = first_[entry.parent];
    if (start == kNone) start = entry.next = i;
    entry.next = std::exchange(entries_[start].next, i);
  }
}

double EvictedComponents::CostAround(const Node& node) {
  absl::InlinedVector<size_t, 8> roots;
  double cost = 0;
  const auto add = [this, &roots, &cost](Node& other) {
    if (!Contains(other)) return;
    const size_t root = Find(other.component);
    if (std::find(roots.begin(), roots.end(), root) != roots.end()) return;
    roots.push_back(root);
    cost += entries_[root].cost;
  };
  lineage().VisitParents(node, add);
  lineage().VisitChildren(node, add);
  return cost;
}

}  // namespace rekindle
