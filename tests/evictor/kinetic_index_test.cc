// SPDX-License-Identifier: Apache-2.0
// The kinetic index beside the scan, on random graphs of which storages come,
// are evicted, return and end.
#include "rekindle/evictor/kinetic_index.h"

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/evictor/policies.h"
#include "rekindle/evictor/scan_index.h"
#include "tests/evictor/toy_lineage.h"

namespace rekindle {
namespace {

// One policy with one index; two of them see the same events on nodes of their
// own.
class World {
 public:
  World(const std::string& policy, bool kinetic)
      : policy_(MakePolicy(policy).value()) {
    if (kinetic) {
      auto index =
          std::make_unique<KineticIndex>(dynamic_cast<LinePolicy&>(*policy_));
      kinetic_ = index.get();
      index_ = std::move(index);
    } else {
      index_ = std::make_unique<ScanIndex>(*policy_);
    }
    policy_->Attach(lineage_, *index_);
  }

  void Add(double cost, size_t bytes, double now, double keep_factor,
           bool last_resort, const std::vector<size_t>& parents) {
    Node& node = lineage_.Add(cost, bytes, now);
    node.keep_factor = keep_factor;
    node.last_resort = last_resort;
    for (size_t parent : parents) lineage_.Link(*nodes_[parent], node);
    nodes_.push_back(&node);
    index_->Insert(node);
  }
  void Evict(size_t i) {
    index_->Erase(*nodes_[i]);
    nodes_[i]->evicted = true;
    policy_->OnEvicted(*nodes_[i]);
  }
  void Return(size_t i, double now) {
    nodes_[i]->evicted = false;
    policy_->OnResident(*nodes_[i]);
    nodes_[i]->last_access = now;
    index_->Insert(*nodes_[i]);
  }
  void Access(size_t i, double now) {
    index_->Erase(*nodes_[i]);
    nodes_[i]->last_access = now;
    index_->Insert(*nodes_[i]);
  }
  Node* Best(double now) { return index_->Best(now); }
  double Score(const Node& node, double now) {
    return policy_->Score(*nodes_[static_cast<size_t>(node.id.value()) - 1],
                          now) *
           node.keep_factor;
  }
  bool IsResident(size_t i) const { return !nodes_[i]->evicted; }
  size_t size() const { return nodes_.size(); }
  void CheckInvariants() const {
    if (kinetic_ != nullptr) kinetic_->CheckInvariants();
  }

 private:
  ToyLineage lineage_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<VictimIndex> index_;
  KineticIndex* kinetic_ = nullptr;
  std::vector<Node*> nodes_;
};

class KineticIndexTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Both worlds must choose the same victim, or one of equal score.
  size_t ExpectSameVictim() {
    const Node* kinetic = kinetic_.Best(now_);
    const Node* scan = scan_.Best(now_);
    EXPECT_EQ(kinetic == nullptr, scan == nullptr);
    if (kinetic == nullptr || scan == nullptr) return 0;
    if (kinetic->id != scan->id) {
      EXPECT_EQ(kinetic->last_resort, scan->last_resort);
      const double a = scan_.Score(*kinetic, now_);
      const double b = scan_.Score(*scan, now_);
      EXPECT_TRUE(a == b || std::abs(a - b) <= 1e-9 * b) << a << " " << b;
    }
    return static_cast<size_t>(kinetic->id.value()) - 1;
  }
  // Up to three of the latest twenty.
  std::vector<size_t> Parents() {
    std::vector<size_t> parents;
    for (size_t i = 0; i < random_() % 4; ++i) {
      const size_t reach = std::min<size_t>(20, kinetic_.size());
      if (reach == 0) break;
      const size_t parent = kinetic_.size() - 1 - random_() % reach;
      if (std::find(parents.begin(), parents.end(), parent) == parents.end()) {
        parents.push_back(parent);
      }
    }
    return parents;
  }
  void Add() {
    const double cost = random_() % 8 == 0 ? 0 : 1.0 + random_() % 5;
    const size_t bytes = 1 + random_() % 6;
    const double keep = random_() % 8 == 0 ? 16 : 1;
    const bool last = random_() % 16 == 0;
    const std::vector<size_t> parents = Parents();
    for (World* world : {&kinetic_, &scan_}) {
      world->Add(cost, bytes, now_, keep, last, parents);
    }
  }
  void Step() {
    now_ += random_() % 3 == 0 ? random_() % 1000 * 0.01 : 0;
    const size_t i = kinetic_.size() == 0 ? 0 : random_() % kinetic_.size();
    const uint32_t choice = random_() % 8;
    if (kinetic_.size() == 0 || choice < 2) return Add();
    if (!kinetic_.IsResident(i)) {
      if (choice > 5) return;
      kinetic_.Return(i, now_);
      return scan_.Return(i, now_);
    }
    if (choice < 4) {
      kinetic_.Access(i, now_);
      return scan_.Access(i, now_);
    }
    const size_t victim = ExpectSameVictim();
    if (!kinetic_.IsResident(victim)) return;
    kinetic_.Evict(victim);
    scan_.Evict(victim);
  }

  std::mt19937 random_{7};
  double now_ = 0;
  World kinetic_{GetParam(), true};
  World scan_{GetParam(), false};
};

TEST_P(KineticIndexTest, ChoosesTheVictimOfTheScan) {
  for (int i = 0; i < 5 * REKINDLE_RANDOM_PROGRAMS && !HasFailure(); ++i) {
    Step();
    if (i % 64 == 0) kinetic_.CheckInvariants();
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, KineticIndexTest,
                         ::testing::Values("dtr", "dtr_eq", "dtr_local", "msps",
                                           "lru", "size", "random",
                                           "score:cost=estar,staleness=0.5",
                                           "score:cost=eq,size=0,staleness=2"));

}  // namespace
}  // namespace rekindle
