// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/scan_index.h"

#include "rekindle/base/check.h"

namespace rekindle {

void ScanIndex::Insert(Node& node) {
  RK_CHECK(!Contains(node), "inserted twice");
  node.index_position = nodes_.size();
  nodes_.push_back(&node);
}

void ScanIndex::Erase(Node& node) {
  RK_CHECK(Contains(node), "not in the index");
  Node* last = nodes_.back();
  nodes_[node.index_position] = last;
  last->index_position = node.index_position;
  nodes_.pop_back();
  node.index_position = Node::kNowhere;
}

Node* ScanIndex::Best(double now) {
  policy_.Refresh();
  Node* best = nullptr;
  double best_score = 0;
  for (Node* node : nodes_) {
    const double score = policy_.Score(*node, now) * node->keep_factor;
    const auto is_better = [&] {
      if (node->last_resort != best->last_resort) return best->last_resort;
      if (score != best_score) return score < best_score;
      return WinsTie(*node, *best);
    };
    if (best != nullptr && !is_better()) continue;
    best = node;
    best_score = score;
  }
  return best;
}

}  // namespace rekindle
