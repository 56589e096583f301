// SPDX-License-Identifier: Apache-2.0
// A policy decides, without knowing the future, which storage to give up.
#pragma once

#include <string>

#include "rekindle/evictor/node.h"

namespace rekindle {

// What happens to the bytes of a storage when its last reference goes.
enum class ReleaseRule {
  kEager,  // they go at once; it may have to be recomputed for others
  kLazy,   // they stay while a live evicted storage would be recomputed from it
};

// A pure function from what is known of a storage to a score, plus whatever
// summary of its neighbourhood it keeps. The smallest score is given up first.
// To add one: one file, and one line in policies.cc.
class Policy {
 public:
  virtual ~Policy() = default;

  // As it would be given to MakePolicy.
  virtual std::string name() const = 0;
  ReleaseRule release_rule() const { return release_rule_; }
  void set_release_rule(ReleaseRule rule) { release_rule_ = rule; }

  // Called once, before anything else. `lineage` outlives the policy.
  virtual void Attach(const Lineage& lineage) { lineage_ = &lineage; }

  // The score of a resident storage at `now` (the engine's clock); at least 0,
  // may be infinite. Storages of equal score: the one scored later goes first.
  virtual double Score(const Node& node, double now) = 0;

  // The storage lost its bytes, got them back, or its record ends. During the
  // first two the lineage is complete; `node.evicted` is already changed.
  virtual void OnEvicted(Node&) {}
  virtual void OnResident(Node&) {}
  virtual void OnForgotten(Node&) {}

 protected:
  explicit Policy(ReleaseRule rule) : release_rule_(rule) {}
  const Lineage& lineage() const { return *lineage_; }

 private:
  ReleaseRule release_rule_;
  const Lineage* lineage_ = nullptr;
};

}  // namespace rekindle
