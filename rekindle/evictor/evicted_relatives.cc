// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/evicted_relatives.h"

namespace rekindle {

void EvictedRelatives::Visit(Way way, const Node& node,
                             absl::FunctionRef<void(Node&)> visit) const {
  if (way == Way::kUp) return lineage().VisitParents(node, visit);
  lineage().VisitChildren(node, visit);
}

int64_t& EvictedRelatives::MarkOf(Node& node, Way way) {
  return way == Way::kUp ? node.upward_mark : node.downward_mark;
}

double EvictedRelatives::CostOf(Way way, const Node& node) {
  double cost = 0;
  const auto step = [&](Node& other) {
    if (!other.evicted || MarkOf(other, way) == mark_) return;
    MarkOf(other, way) = mark_;
    cost += other.cost;
    pending_.push_back(&other);
  };
  Visit(way, node, step);
  while (!pending_.empty()) {
    const Node& next = *pending_.back();
    pending_.pop_back();
    Visit(way, next, step);
  }
  return cost;
}

double EvictedRelatives::CostAround(const Node& node) {
  ++mark_;
  double cost = CostOf(Way::kUp, node);
  if (side_ == Side::kBoth) cost += CostOf(Way::kDown, node);
  return cost;
}

void EvictedRelatives::Add(Node& node) {
  if (node.changed_position != Node::kNowhere) return;
  node.changed_position = changed_.size();
  changed_.push_back(&node);
}

void EvictedRelatives::Remove(Node& node) {
  if (node.changed_position == Node::kNowhere) return;
  changed_.back()->changed_position = node.changed_position;
  changed_[node.changed_position] = changed_.back();
  changed_.pop_back();
  node.changed_position = Node::kNowhere;
}

// Whoever counted it reached it through its parents. (It has no children.)
void EvictedRelatives::OnForgotten(Node& node) {
  Remove(node);
  lineage().VisitParents(node, [this](Node& parent) { Add(parent); });
}

// Whoever counted a changed storage is met on this way from it, behind evicted
// storages or such as have changed too.
void EvictedRelatives::ImproveFrom(Way way) {
  const auto step = [&](Node& other) {
    if (MarkOf(other, way) == mark_) return;
    MarkOf(other, way) = mark_;
    ImproveIfCandidate(other);
    if (other.evicted || other.changed_position != Node::kNowhere) {
      pending_.push_back(&other);
    }
  };
  for (Node* node : changed_) step(*node);
  while (!pending_.empty()) {
    const Node& next = *pending_.back();
    pending_.pop_back();
    Visit(way, next, step);
  }
}

void EvictedRelatives::Refresh() {
  if (changed_.empty()) return;
  ++mark_;
  ImproveFrom(Way::kDown);
  if (side_ == Side::kBoth) ImproveFrom(Way::kUp);
  while (!changed_.empty()) Remove(*changed_.back());
}

}  // namespace rekindle
