// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/victim_index.h"

#include "gtest/gtest.h"
#include "rekindle/evictor/policies.h"
#include "tests/evictor/toy_lineage.h"

namespace rekindle {
namespace {

class ScanIndexTest : public ::testing::Test {
 protected:
  ScanIndexTest() { lru_->Attach(lineage_); }
  ToyLineage lineage_;
  ScanIndex index_;
  std::unique_ptr<Policy> lru_ = MakePolicy("lru").value();
};

TEST_F(ScanIndexTest, EmptyIndexHasNoBest) {
  EXPECT_EQ(index_.Best(*lru_, 10), nullptr);
}

TEST_F(ScanIndexTest, BestHasTheSmallestScoreAndStays) {
  Node& recent = lineage_.Add(1, 1, 5);
  Node& old = lineage_.Add(1, 1, 2);
  index_.Insert(recent);
  index_.Insert(old);
  EXPECT_EQ(index_.Best(*lru_, 10), &old);
  EXPECT_EQ(index_.size(), 2u);
}

TEST_F(ScanIndexTest, EqualScoresGoToTheLast) {
  Node& first = lineage_.Add(1, 1, 2);
  Node& last = lineage_.Add(1, 1, 2);
  index_.Insert(first);
  index_.Insert(last);
  EXPECT_EQ(index_.Best(*lru_, 10), &last);
}

TEST_F(ScanIndexTest, KeepFactorWeighsTheScore) {
  Node& kept = lineage_.Add(1, 1, 2);
  kept.keep_factor = 100;
  Node& other = lineage_.Add(1, 1, 5);
  index_.Insert(kept);
  index_.Insert(other);
  EXPECT_EQ(index_.Best(*lru_, 10), &other);
}

TEST_F(ScanIndexTest, LastResortsGoWhenNothingElseIsLeft) {
  Node& first = lineage_.Add(1, 1, 1);
  first.last_resort = true;
  Node& second = lineage_.Add(1, 1, 2);
  second.last_resort = true;
  Node& other = lineage_.Add(1, 1, 9);
  index_.Insert(first);
  index_.Insert(other);
  index_.Insert(second);
  EXPECT_EQ(index_.Best(*lru_, 10), &other);
  index_.Erase(other);
  EXPECT_EQ(index_.Best(*lru_, 10), &first);
}

TEST_F(ScanIndexTest, ErasedNodesAreNoVictims) {
  Node& a = lineage_.Add(1, 1, 1);
  Node& b = lineage_.Add(1, 1, 2);
  Node& c = lineage_.Add(1, 1, 3);
  index_.Insert(a);
  index_.Insert(b);
  index_.Insert(c);
  index_.Erase(a);
  EXPECT_FALSE(VictimIndex::Contains(a));
  EXPECT_EQ(index_.Best(*lru_, 10), &b);
  index_.Erase(b);
  index_.Erase(c);
  EXPECT_EQ(index_.Best(*lru_, 10), nullptr);
}

}  // namespace
}  // namespace rekindle
