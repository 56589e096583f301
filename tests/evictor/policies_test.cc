// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/policies.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/evictor/toy_lineage.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

TEST(PoliciesTest, EveryNameIsMadeUnderItsOwnName) {
  for (const std::string& name : PolicyNames()) {
    EXPECT_EQ(MakePolicy(name).value()->name(), name);
  }
}

TEST(PoliciesTest, PublishedPoliciesReleaseEagerly) {
  EXPECT_EQ(MakePolicy("dtr_eq").value()->release_rule(), ReleaseRule::kEager);
  EXPECT_EQ(MakePolicy("dtr_eq:release=lazy").value()->release_rule(),
            ReleaseRule::kLazy);
  EXPECT_EQ(
      MakePolicy("lru:release=lazy,release=eager").value()->release_rule(),
      ReleaseRule::kEager);
}

TEST(PoliciesTest, WrongTextsAreRefusedWithWhatIsAccepted) {
  for (const char* text :
       {"", "dtr", "DTR_EQ", "dtr_eq:", "dtr_eq:release", "dtr_eq:release=soon",
        "dtr_eq:release=lazy,", "lru:speed=9", ":release=lazy"}) {
    const auto policy = MakePolicy(text);
    EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    EXPECT_THAT(std::string(policy.status().message()), HasSubstr("dtr_eq"));
  }
}

TEST(DtrLocalTest, ScoreIsCostByBytesAndStaleness) {
  ToyLineage lineage;
  const auto policy = MakePolicy("dtr_local").value();
  policy->Attach(lineage);
  const Node& node = lineage.Add(12, 2, 7);
  EXPECT_DOUBLE_EQ(policy->Score(node, 10), 12.0 / (2 * 3));
  EXPECT_TRUE(std::isinf(policy->Score(node, 7)));
  EXPECT_EQ(policy->Score(lineage.Add(0, 2, 7), 7), 0);
}

TEST(LruTest, ScoreIsTheLastAccess) {
  ToyLineage lineage;
  const auto policy = MakePolicy("lru").value();
  EXPECT_EQ(policy->Score(lineage.Add(12, 2, 7), 10), 7);
}

class DtrEqTest : public ::testing::Test {
 protected:
  DtrEqTest() { policy_->Attach(lineage_); }
  void Evict(Node& node) {
    node.evicted = true;
    policy_->OnEvicted(node);
  }
  void Restore(Node& node) {
    node.evicted = false;
    policy_->OnResident(node);
  }
  // With one byte and a staleness of one, the score is the cost.
  double Cost(const Node& node) { return policy_->Score(node, 1); }

  ToyLineage lineage_;
  std::unique_ptr<Policy> policy_ = MakePolicy("dtr_eq").value();
};

TEST_F(DtrEqTest, CountsEachEvictedComponentNextToItOnce) {
  Node& a = lineage_.Add(1);
  Node& b = lineage_.Add(2);
  Node& c = lineage_.Add(4);
  Node& d = lineage_.Add(8);
  lineage_.Link(a, b);
  lineage_.Link(b, d);
  lineage_.Link(a, c);
  lineage_.Link(c, d);
  EXPECT_DOUBLE_EQ(Cost(d), 8);
  Evict(b);
  EXPECT_DOUBLE_EQ(Cost(d), 10);
  EXPECT_DOUBLE_EQ(Cost(a), 3);
  EXPECT_DOUBLE_EQ(Cost(c), 4);
  Evict(c);
  EXPECT_DOUBLE_EQ(Cost(d), 14);  // two components
  Evict(a);                       // joins them
  EXPECT_DOUBLE_EQ(Cost(d), 15);
}

TEST_F(DtrEqTest, ReturnSubtractsTheCostButDoesNotSplit) {
  Node& a = lineage_.Add(1);
  Node& b = lineage_.Add(2);
  Node& c = lineage_.Add(4);
  Node& d = lineage_.Add(8);
  lineage_.Link(a, b);
  lineage_.Link(b, c);
  lineage_.Link(c, d);
  Evict(a);
  Evict(b);
  Evict(c);
  EXPECT_DOUBLE_EQ(Cost(d), 15);
  Restore(b);
  EXPECT_DOUBLE_EQ(Cost(d), 13);  // a is still in the component
  policy_->OnForgotten(a);
  EXPECT_DOUBLE_EQ(Cost(d), 12);
}

}  // namespace
}  // namespace rekindle
