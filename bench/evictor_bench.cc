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

// A policy and its index over a graph, of which all is resident at first.
class Evictor {
 public:
  Evictor(size_t size, const std::string& policy, bool kinetic)
      : graph_(size),
        policy_(MakePolicy(policy).value()),
        index_(MakeIndex(*policy_, kinetic)),
        now_(static_cast<double>(size)) {
    policy_->Attach(graph_, *index_);
    for (Node& node : graph_.nodes()) index_->Insert(node);
  }

  void Evict() {
    Node* const victim = index_->Best(now_);
    index_->Erase(*victim);
    victim->evicted = true;
    policy_->OnEvicted(*victim);
    evicted_.push_back(victim);
    now_ += victim->cost;
  }
  // The one that was evicted first comes back, as a recomputation does it.
  void TakeBack() {
    Node* const node = evicted_.front();
    evicted_.pop_front();
    node->evicted = false;
    policy_->OnResident(*node);
    node->last_access = now_;
    index_->Insert(*node);
  }
  size_t evicted() const { return evicted_.size(); }

 private:
  Graph graph_;
  const std::unique_ptr<Policy> policy_;
  const std::unique_ptr<VictimIndex> index_;
  double now_;
  std::deque<Node*> evicted_;
};

// Chooses and evicts one victim. Now and then, off the clock, all come back.
void Evict(benchmark::State& state, const std::string& policy, bool kinetic) {
  const auto size = static_cast<size_t>(state.range(0));
  Evictor evictor(size, policy, kinetic);
  evictor.Evict();  // builds the index
  const size_t most = kinetic ? size / 10 : 10;
  for (auto _ : state) {
    evictor.Evict();
    if (evictor.evicted() < most) continue;
    state.PauseTiming();
    while (evictor.evicted() > 0) evictor.TakeBack();
    evictor.Evict();
    state.ResumeTiming();
  }
}

// The same, and for each victim another one comes back.
void EvictAndReturn(benchmark::State& state, const std::string& policy,
                    bool kinetic) {
  const auto size = static_cast<size_t>(state.range(0));
  Evictor evictor(size, policy, kinetic);
  const size_t away = kinetic ? size / 10 : 10;
  while (evictor.evicted() < away) evictor.Evict();
  for (auto _ : state) {
    evictor.Evict();
    evictor.TakeBack();
  }
}

#define REKINDLE_EVICTION(function, policy, index, ...)  \
  BENCHMARK_CAPTURE(function, policy##_##index, #policy, \
                    std::string(#index) == "kinetic")    \
  __VA_ARGS__

REKINDLE_EVICTION(Evict, dtr_local, scan, ->Arg(1000)->Arg(100000));
REKINDLE_EVICTION(Evict, dtr_local,
                  kinetic, ->Arg(1000)->Arg(100000)->Arg(1000000));
REKINDLE_EVICTION(Evict, dtr_eq, scan, ->Arg(1000)->Arg(100000));
REKINDLE_EVICTION(Evict, dtr_eq,
                  kinetic, ->Arg(1000)->Arg(100000)->Arg(1000000));
REKINDLE_EVICTION(EvictAndReturn, dtr_eq,
                  kinetic, ->Arg(1000)->Arg(100000)->Arg(1000000));

}  // namespace
}  // namespace rekindle
