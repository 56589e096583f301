// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "rekindle/evictor/neighbourhood.h"

namespace rekindle {

// e*(t) of "Dynamic Tensor Rematerialization" (Kirisame et al., ICLR 2021),
// exactly: the storages that are reached from `t` upwards, to what it is made
// from, or downwards, to what is made from it, through evicted ones only.
//
// CostAround walks them: linear in their number.
class EvictedRelatives : public Neighbourhood {
 public:
  enum class Side { kAncestors, kBoth };
  explicit EvictedRelatives(Side side) : side_(side) {}

  double CostAround(const Node& node) override;
  void OnEvicted(Node&) override {}
  void OnResident(Node& node) override { Add(node); }
  void OnForgotten(Node& node) override;
  // Visits the relatives of all storages that changed.
  void Refresh() override;

 private:
  enum class Way { kUp, kDown };
  static int64_t& MarkOf(Node& node, Way way);
  void Visit(Way way, const Node& node,
             absl::FunctionRef<void(Node&)> visit) const;
  double CostOf(Way way, const Node& node);
  void ImproveFrom(Way way);
  void Add(Node& node);
  void Remove(Node& node);

  const Side side_;
  int64_t mark_ = 0;
  // Storages that came back, or next to which an evicted one ended.
  std::vector<Node*> changed_;
  std::vector<Node*> pending_;  // of a walk
};

}  // namespace rekindle
