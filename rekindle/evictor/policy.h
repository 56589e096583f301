// SPDX-License-Identifier: Apache-2.0
// A policy decides, without knowing the future, which storage to give up.
#pragma once

#include <limits>
#include <string>

#include "rekindle/evictor/line.h"
#include "rekindle/evictor/node.h"

namespace rekindle {

class VictimIndex;

// What happens to the bytes of a storage when its last reference goes.
enum class ReleaseRule {
  kEager,  // they go at once; it may have to be recomputed for others
  kLazy,   // they stay while a live evicted storage would be recomputed from it
};

// A pure function from what is known of a storage to a score, plus whatever
// summary of its neighbourhood it keeps. The smallest score is given up first.
//
// Most scores are cost / (bytes * staleness) in some form, and had better be a
// LinePolicy (below): its victim is found in O(log n). Any other function of
// time can be a Policy; finding its victim scores every candidate.
//
// To add one: a file, and a line in policies.cc; or, outside the tree, a
// PolicyRegistry.
class Policy {
 public:
  virtual ~Policy() = default;

  // As it would be given to MakePolicy.
  virtual std::string name() const = 0;
  ReleaseRule release_rule() const { return release_rule_; }
  void set_release_rule(ReleaseRule rule) { release_rule_ = rule; }

  // Called once, before anything else. Both outlive the policy.
  virtual void Attach(const Lineage& lineage, VictimIndex& index) {
    lineage_ = &lineage;
    index_ = &index;
  }

  // The score of a resident storage at `now` (the engine's clock); at least 0,
  // may be infinite.
  virtual double Score(const Node& node, double now) = 0;

  // The storage lost its bytes, got them back, or its record ends. During the
  // first two the lineage is complete; `node.evicted` is already changed.
  virtual void OnEvicted(Node&) {}
  virtual void OnResident(Node&) {}
  virtual void OnForgotten(Node&) {}

  // Called before a victim is chosen. Says VictimIndex::Improve of every
  // candidate whose score fell since the last time, other than by the time
  // that passed or by a change of its own fields.
  virtual void Refresh() {}

 protected:
  explicit Policy(ReleaseRule rule) : release_rule_(rule) {}
  const Lineage& lineage() const { return *lineage_; }
  VictimIndex& index() const { return *index_; }

 private:
  ReleaseRule release_rule_;
  const Lineage* lineage_ = nullptr;
  VictimIndex* index_ = nullptr;
};

// A policy whose order at any moment is that of lines, the highest first. The
// score is one over the height.
class LinePolicy : public Policy {
 public:
  // The line of a resident storage, as things are.
  virtual Line LineOf(const Node& node) = 0;
  // A line nowhere below LineOf, for less work: what the index starts from.
  virtual Line BoundOf(const Node& node) { return LineOf(node); }
  // Time as the lines count it; never falls.
  virtual double TimeOf(double now) const { return now; }

  double Score(const Node& node, double now) final {
    const Line line = LineOf(node);
    if (line.slope == std::numeric_limits<double>::infinity()) return 0;
    return 1 / line.At(TimeOf(now));
  }

 protected:
  using Policy::Policy;
};

}  // namespace rekindle
