// SPDX-License-Identifier: Apache-2.0
// What a storage costs beyond its own call: the part of a score that depends on
// which storages around it are evicted.
#pragma once

#include "rekindle/evictor/node.h"
#include "rekindle/evictor/victim_index.h"

namespace rekindle {

// Thread-compatible. The notifications and Attach are those of Policy.
class Neighbourhood {
 public:
  virtual ~Neighbourhood() = default;

  void Attach(const Lineage& lineage, VictimIndex& index) {
    lineage_ = &lineage;
    index_ = &index;
  }

  // Cost that giving up the resident `node` would share with its evicted
  // surroundings; at least 0.
  virtual double CostAround(const Node& node) = 0;

  virtual void OnEvicted(Node& node) = 0;
  virtual void OnResident(Node& node) = 0;
  virtual void OnForgotten(Node& node) = 0;
  virtual void Refresh() = 0;

 protected:
  const Lineage& lineage() const { return *lineage_; }
  void ImproveIfCandidate(Node& node) {
    if (VictimIndex::Contains(node)) index_->Improve(node);
  }

 private:
  const Lineage* lineage_ = nullptr;
  VictimIndex* index_ = nullptr;
};

}  // namespace rekindle
