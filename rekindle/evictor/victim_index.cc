// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/victim_index.h"

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

Node* ScanIndex::Best(Policy& policy, double now) {
  Node* best = nullptr;
  double best_score = 0;
  for (Node* node : nodes_) {
    const double score = policy.Score(*node, now) * node->keep_factor;
    const bool worse = best != nullptr && node->last_resort == best->last_resort
                           ? score > best_score
                           : node->last_resort;
    if (best != nullptr && worse) continue;
    best = node;
    best_score = score;
  }
  return best;
}

}  // namespace rekindle
