// SPDX-License-Identifier: Apache-2.0
// h_DTR_eq and h_DTR_local of "Dynamic Tensor Rematerialization" (Kirisame et
// al., ICLR 2021): cost / (bytes * staleness), with and without the cost of
// the evicted neighbourhood.
#include "rekindle/evictor/builtin.h"
#include "rekindle/evictor/evicted_components.h"

namespace rekindle {
namespace {

double PerByteAndTime(double cost, const Node& node, double now) {
  const double space_time =
      static_cast<double>(node.bytes) * (now - node.last_access);
  if (cost == 0) return 0;
  return cost / space_time;  // infinite for what is in use right now
}

class DtrEq : public Policy {
 public:
  DtrEq() : Policy(ReleaseRule::kEager) {}
  std::string name() const override { return "dtr_eq"; }

  double Score(const Node& node, double now) override {
    return PerByteAndTime(
        node.cost + components_.NeighbourCost(node, lineage()), node, now);
  }
  void OnEvicted(Node& node) override { components_.Add(node, lineage()); }
  void OnResident(Node& node) override { OnForgotten(node); }
  void OnForgotten(Node& node) override {
    if (EvictedComponents::Contains(node)) components_.Remove(node);
  }

 private:
  EvictedComponents components_;
};

class DtrLocal : public Policy {
 public:
  DtrLocal() : Policy(ReleaseRule::kEager) {}
  std::string name() const override { return "dtr_local"; }
  double Score(const Node& node, double now) override {
    return PerByteAndTime(node.cost, node, now);
  }
};

}  // namespace

std::unique_ptr<Policy> MakeDtrEq() { return std::make_unique<DtrEq>(); }
std::unique_ptr<Policy> MakeDtrLocal() { return std::make_unique<DtrLocal>(); }

}  // namespace rekindle
