// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "rekindle/evictor/victim_index.h"

namespace rekindle {

// Scores every node at every question: O(n), exact for any policy.
class ScanIndex : public VictimIndex {
 public:
  // `policy` outlives the index.
  explicit ScanIndex(Policy& policy) : policy_(policy) {}

  void Insert(Node& node) override;
  void Erase(Node& node) override;
  void Improve(Node&) override {}
  Node* Best(double now) override;
  size_t size() const override { return nodes_.size(); }

 private:
  Policy& policy_;
  std::vector<Node*> nodes_;
};

}  // namespace rekindle
