// SPDX-License-Identifier: Apache-2.0
// Choosing and evicting a victim among many candidates, and taking another
// storage back: the kinetic index beside the scan of all candidates.
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "rekindle/evictor/kinetic_index.h"
#include "rekindle/evictor/policies.h"
#include "rekindle/evictor/scan_index.h"

namespace rekindle {
namespace {

// A training step seen from the evictor: each storage is made from the one
// before it and from one of the last twenty.
class Graph : public Lineage {
 public:
  explicit Graph(size_t size) : nodes_(size), parents_(size), children_(size) {
    std::mt19937 random(1);
    for (size_t i = 0; i < size; ++i) {
      Node& node = nodes_[i];
      node.id = StorageId(static_cast<int64_t>(i));
      node.bytes = 1 + random() % 1000;
      node.cost = 1 + random() % 100;
      node.last_access = static_cast<double>(i);
      if (i == 0) continue;
      Link(i, i - 1);
      const size_t other = i - 1 - random() % std::min<size_t>(i, 20);
      if (other != i - 1) Link(i, other);
    }
  }
  std::vector<Node>& nodes() { return nodes_; }

  void VisitParents(const Node& node,
                    absl::FunctionRef<void(Node&)> visit) const override {
    for (Node* parent : parents_[Index(node)]) visit(*parent);
  }
  void VisitChildren(const Node& node,
                     absl::FunctionRef<void(Node&)> visit) const override {
    for (Node* child : children_[Index(node)]) visit(*child);
  }

 private:
  static size_t Index(const Node& node) {
    return static_cast<size_t>(node.id.value());
  }
  void Link(size_t child, size_t parent) {
    parents_[child].push_back(&nodes_[parent]);
    children_[parent].push_back(&nodes_[child]);
  }

  std::vector<Node> nodes_;
  std::vector<std::vector<Node*>> parents_;
  std::vector<std::vector<Node*>> children_;
};

std::unique_ptr<VictimIndex> MakeIndex(Policy& policy, bool kinetic) {
  if (!kinetic) return std::make_unique<ScanIndex>(policy);
  return std::make_unique<KineticIndex>(dynamic_cast<LinePolicy&>(policy));
}

// One victim is chosen and evicted, and what was evicted a tenth of the
// candidates ago comes back, as a recomputation does it.
void EvictAndReturn(benchmark::State& state, const std::string& name,
                    bool kinetic) {
  const auto size = static_cast<size_t>(state.range(0));
  Graph graph(size);
  const std::unique_ptr<Policy> policy = MakePolicy(name).value();
  const std::unique_ptr<VictimIndex> index = MakeIndex(*policy, kinetic);
  policy->Attach(graph, *index);
  for (Node& node : graph.nodes()) index->Insert(node);
  double now = static_cast<double>(size);
  std::deque<Node*> evicted;
  const auto evict = [&] {
    Node* victim = index->Best(now);
    index->Erase(*victim);
    victim->evicted = true;
    policy->OnEvicted(*victim);
    evicted.push_back(victim);
    now += victim->cost;
  };
  const auto take_back = [&] {
    Node* node = evicted.front();
    evicted.pop_front();
    node->evicted = false;
    policy->OnResident(*node);
    node->last_access = now;
    index->Insert(*node);
  };
  const size_t away = kinetic ? size / 10 : 10;
  while (evicted.size() < away) evict();
  for (auto _ : state) {
    evict();
    take_back();
  }
}

#define REKINDLE_EVICT(policy, index, ...)                     \
  BENCHMARK_CAPTURE(EvictAndReturn, policy##_##index, #policy, \
                    std::string(#index) == "kinetic")          \
  __VA_ARGS__

REKINDLE_EVICT(dtr_local, scan, ->Arg(1000)->Arg(100000));
REKINDLE_EVICT(dtr_local, kinetic, ->Arg(1000)->Arg(100000)->Arg(1000000));
REKINDLE_EVICT(dtr_eq, scan, ->Arg(1000)->Arg(100000));
REKINDLE_EVICT(dtr_eq, kinetic, ->Arg(1000)->Arg(100000)->Arg(1000000));

}  // namespace
}  // namespace rekindle
