// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rekindle/evictor/victim_index.h"

namespace rekindle {

// A kinetic tournament (Basch, Guibas and Hershberger, "Data structures for
// mobile data", SODA 1997): a tree in which every inner node holds the highest
// of the lines below it and the time until which that is sure. The victim is at
// the root; as time passes only the parts of the tree whose time has come are
// played again. Exact up to the rounding of one multiplication.
//
// Lines in the tree may be too high, never too low: a cost that rose since is
// found out when the node reaches the root, which puts it back where it
// belongs. So evictions, which raise costs, update nothing.
//
// Nodes enter the tree when a victim is asked for: a program that never runs
// short pays for none of this.
//
// Insert: O(1). Erase and Improve: O(log n), O(1) for nodes not yet in the
// tree. Best: O(log n) for each that is new, and for each time that a line is
// overtaken or found to be too high, all of which something else paid for: an
// insertion, an access, an eviction near it.
class KineticIndex : public VictimIndex {
 public:
  // `policy` outlives the index.
  explicit KineticIndex(LinePolicy& policy) : policy_(policy) {}

  void Insert(Node& node) override;
  void Erase(Node& node) override;
  void Improve(Node& node) override;
  Node* Best(double now) override;
  size_t size() const override {
    return nodes_.size() - free_.size() + entering_.size();
  }

  // Aborts unless every inner node holds the winner of those below it. Slow;
  // for tests.
  void CheckInvariants() const;

 private:
  // Who wins whatever the lines say.
  enum Rank : int32_t { kNobody, kLastResort, kUsual, kCostsNothing };

  // A line, or the highest of some lines.
  struct Entry {
    double slope = 0;
    double origin = 0;
    // Until then the entry is right. At a leaf: always.
    double until = 0;
    uint32_t slot = 0;
    Rank rank = kNobody;

    friend bool operator==(const Entry& a, const Entry& b) = default;
  };
  static_assert(sizeof(Entry) == 32, "four siblings in two cache lines");
  static constexpr size_t kArity = 4;

  // A node not yet in the tree has its position in entering_, and this bit.
  static constexpr size_t kEntering = ~(Node::kNowhere >> 1);

  void Enter(Node& node);
  static Entry MakeEntry(const Node& node, Line line, size_t slot);
  double Height(const Entry& entry) const;
  bool Beats(const Entry& a, const Entry& b) const;
  double OvertakenAt(const Entry& winner, const Entry& other) const;
  Entry Play(const Entry* siblings) const;
  void Set(size_t slot, const Entry& entry);
  void Advance(size_t level, size_t position);
  void Grow();

  LinePolicy& policy_;
  double now_ = 0;
  std::vector<Node*> nodes_;  // by slot; null if the slot is free
  std::vector<size_t> free_;
  std::vector<Node*> entering_;
  // levels_[0]: one entry a slot; each level above: one for kArity below. All
  // sizes but that of the root's level are multiples of kArity.
  std::vector<std::vector<Entry>> levels_;
};

}  // namespace rekindle
