// SPDX-License-Identifier: Apache-2.0
// Rules of every index.
#include "rekindle/evictor/victim_index.h"

#include <limits>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "rekindle/evictor/kinetic_index.h"
#include "rekindle/evictor/policies.h"
#include "rekindle/evictor/scan_index.h"
#include "tests/evictor/toy_lineage.h"

namespace rekindle {
namespace {

class VictimIndexTest : public ::testing::TestWithParam<const char*> {
 protected:
  VictimIndexTest() { Use("lru"); }
  void Use(const char* name) {
    policy_ = MakePolicy(name).value();
    if (std::string(GetParam()) == "scan") {
      index_ = std::make_unique<ScanIndex>(*policy_);
    } else {
      index_ =
          std::make_unique<KineticIndex>(dynamic_cast<LinePolicy&>(*policy_));
    }
    policy_->Attach(lineage_, *index_);
  }
  Node& Insert(double cost, size_t bytes, double last_access) {
    Node& node = lineage_.Add(cost, bytes, last_access);
    index_->Insert(node);
    return node;
  }

  ToyLineage lineage_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<VictimIndex> index_;
};

TEST_P(VictimIndexTest, EmptyIndexHasNoBest) {
  EXPECT_EQ(index_->Best(10), nullptr);
}

TEST_P(VictimIndexTest, BestHasTheSmallestScoreAndStays) {
  Insert(1, 1, 5);
  Node& old = Insert(1, 1, 2);
  EXPECT_EQ(index_->Best(10), &old);
  EXPECT_EQ(index_->Best(10), &old);
  EXPECT_EQ(index_->size(), 2u);
}

TEST_P(VictimIndexTest, EqualScoresGoToTheLargestThenTheYoungest) {
  Insert(1, 1, 2);
  Node& youngest = Insert(1, 1, 2);
  EXPECT_EQ(index_->Best(10), &youngest);
  Node& largest = Insert(1, 2, 2);
  Insert(1, 1, 2);
  EXPECT_EQ(index_->Best(10), &largest);
}

TEST_P(VictimIndexTest, TimeChangesTheOrder) {
  Use("dtr_local");
  Node& early = Insert(4, 1, 0);  // height now / 4
  Node& steep = Insert(1, 1, 9);  // height now - 9
  EXPECT_EQ(index_->Best(10), &early);
  EXPECT_EQ(index_->Best(11.9), &early);
  EXPECT_EQ(index_->Best(12.1), &steep);
}

TEST_P(VictimIndexTest, KeepFactorWeighsTheScore) {
  Node& kept = lineage_.Add(1, 1, 2);
  kept.keep_factor = 100;
  index_->Insert(kept);
  Node& other = Insert(1, 1, 5);
  EXPECT_EQ(index_->Best(10), &other);
}

TEST_P(VictimIndexTest, LastResortsGoWhenNothingElseIsLeft) {
  Node& first = lineage_.Add(1, 1, 1);
  first.last_resort = true;
  Node& second = lineage_.Add(0, 1, 2);
  second.last_resort = true;
  index_->Insert(first);
  Node& other = Insert(1, 1, 9);
  index_->Insert(second);
  EXPECT_EQ(index_->Best(10), &other);
  index_->Erase(other);
  EXPECT_EQ(index_->Best(10), &first);
}

TEST_P(VictimIndexTest, WhatCostsNothingGoesFirstEvenInUse) {
  Use("dtr_local");
  Insert(1e-30, 1000, 1);
  Node& free = Insert(0, 1, 10);
  EXPECT_EQ(index_->Best(10), &free);
  Node& larger = Insert(0, 2, 10);
  EXPECT_EQ(index_->Best(10), &larger);
}

TEST_P(VictimIndexTest, ErasedNodesAreNoVictims) {
  Node& a = Insert(1, 1, 1);
  Node& b = Insert(1, 1, 2);
  Node& c = Insert(1, 1, 3);
  index_->Erase(a);
  EXPECT_FALSE(VictimIndex::Contains(a));
  EXPECT_EQ(index_->Best(10), &b);
  index_->Erase(b);
  index_->Erase(c);
  EXPECT_EQ(index_->Best(10), nullptr);
  EXPECT_EQ(index_->size(), 0u);
}

TEST_P(VictimIndexTest, CostsOfNeighboursRiseAndFall) {
  Use("dtr");
  Node& parent = lineage_.Add(8);
  Node& child = lineage_.Add(1, 1, 0);
  lineage_.Link(parent, child);
  index_->Insert(child);
  Node& other = Insert(4, 1, 0);
  EXPECT_EQ(index_->Best(10), &child);
  parent.evicted = true;
  policy_->OnEvicted(parent);
  EXPECT_EQ(index_->Best(10), &other);
  parent.evicted = false;
  policy_->OnResident(parent);
  EXPECT_EQ(index_->Best(10), &child);
}

INSTANTIATE_TEST_SUITE_P(Indexes, VictimIndexTest,
                         ::testing::Values("scan", "kinetic"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace rekindle
