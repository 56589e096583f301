// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/policies.h"

#include <cmath>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/evictor/victim_index.h"
#include "tests/evictor/toy_lineage.h"

namespace rekindle {
namespace {

using ::testing::HasSubstr;

TEST(PoliciesTest, EveryNameIsMadeUnderItsOwnName) {
  for (const std::string& name : PolicyRegistry::Builtin().names()) {
    EXPECT_EQ(MakePolicy(name).value()->name(), name);
  }
}

TEST(PoliciesTest, PublishedPoliciesReleaseEagerly) {
  EXPECT_EQ(MakePolicy("dtr_eq").value()->release_rule(), ReleaseRule::kEager);
  EXPECT_EQ(MakePolicy("dtr_eq:release=lazy").value()->release_rule(),
            ReleaseRule::kLazy);
  EXPECT_EQ(MakePolicy("lru:release=eager").value()->release_rule(),
            ReleaseRule::kEager);
}

struct WrongText {
  const char* text;
  const char* says;
};

TEST(PoliciesTest, WrongTextsAreRefusedWithWhatIsAccepted) {
  for (const auto& [text, says] : std::initializer_list<WrongText>{
           {"", "accepted are dtr, dtr_eq"},
           {"DTR_EQ", "accepted are dtr, dtr_eq"},
           {":release=lazy", "accepted are dtr, dtr_eq"},
           {"dtr_eq:", "not KEY=VALUE"},
           {"dtr_eq:release", "not KEY=VALUE"},
           {"dtr_eq:release=lazy,", "not KEY=VALUE"},
           {"dtr_eq:release=soon", "release=soon is none of lazy, eager"},
           {"dtr_eq:release=lazy,release=lazy", "set twice"},
           {"lru:speed=9", "accepted are release"},
           {"score:cost=all", "none of none, local, ancestors, eq, estar"},
           {"score:staleness=-1", "not a number of at least 0"},
           {"score:staleness=nan", "not a number of at least 0"},
           {"score:staleness=0.01", "staleness is 0, or from 0.1 to 10"},
           {"score:sise=1", "accepted are cost, release, size, staleness"}}) {
    const auto policy = MakePolicy(text);
    EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument)
        << text;
    EXPECT_THAT(std::string(policy.status().message()), HasSubstr(says));
  }
}

// Not a line in time: the score falls with the number of an id.
class Youngest : public Policy {
 public:
  explicit Youngest(double power) : Policy(ReleaseRule::kLazy), power_(power) {}
  static absl::StatusOr<std::unique_ptr<Policy>> Make(
      const PolicySettings& settings) {
    RK_ASSIGN_OR_RETURN(const double power, settings.Number("power", 1));
    return std::make_unique<Youngest>(power);
  }
  std::string name() const override { return "youngest"; }
  double Score(const Node& node, double /*now*/) override {
    return std::pow(static_cast<double>(node.id.value()), -power_);
  }

 private:
  const double power_;
};

TEST(PoliciesTest, RegisteredPolicyIsMadeByItsName) {
  PolicyRegistry registry = PolicyRegistry::Builtin();
  ASSERT_TRUE(registry.Register("youngest", Youngest::Make).ok());
  const auto policy = registry.Make("youngest:power=2,release=eager").value();
  EXPECT_EQ(policy->release_rule(), ReleaseRule::kEager);
  ToyLineage lineage;
  const auto index = MakeVictimIndex(*policy);
  policy->Attach(lineage, *index);
  index->Insert(lineage.Add(1));
  Node& young = lineage.Add(1);
  index->Insert(young);
  EXPECT_EQ(index->Best(0), &young);
  EXPECT_EQ(registry.Make("youngest:speed=2").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PoliciesTest, NamesAreUniqueAndPlain) {
  PolicyRegistry registry = PolicyRegistry::Builtin();
  EXPECT_EQ(registry.Register("lru", Youngest::Make).code(),
            absl::StatusCode::kAlreadyExists);
  for (const char* name : {"", "a b", "a:b", "A"}) {
    EXPECT_EQ(registry.Register(name, Youngest::Make).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// One byte and a staleness of one, unless said otherwise.
class PolicyTest : public ::testing::Test {
 protected:
  void Use(const char* text) {
    policy_ = MakePolicy(text).value();
    index_ = MakeVictimIndex(*policy_);
    policy_->Attach(lineage_, *index_);
  }
  void Evict(Node& node) {
    node.evicted = true;
    policy_->OnEvicted(node);
  }
  void Restore(Node& node) {
    node.evicted = false;
    policy_->OnResident(node);
  }
  double Score(const Node& node, double now = 1) {
    return policy_->Score(node, now);
  }
  // Linked one after the other.
  std::vector<Node*> Chain(std::initializer_list<double> costs) {
    std::vector<Node*> chain;
    for (double cost : costs) {
      chain.push_back(&lineage_.Add(cost));
      if (chain.size() > 1) lineage_.Link(*chain.end()[-2], *chain.back());
    }
    return chain;
  }

  ToyLineage lineage_;
  std::unique_ptr<Policy> policy_;
  std::unique_ptr<VictimIndex> index_;
};

TEST_F(PolicyTest, LocalScoreIsCostByBytesAndStaleness) {
  Use("dtr_local");
  const Node& node = lineage_.Add(12, 2, 7);
  EXPECT_DOUBLE_EQ(Score(node, 10), 12.0 / (2 * 3));
  EXPECT_TRUE(std::isinf(Score(node, 7)));
  EXPECT_EQ(Score(lineage_.Add(0, 2, 7), 7), 0);
}

TEST_F(PolicyTest, LruPrefersTheOldest) {
  Use("lru");
  EXPECT_LT(Score(lineage_.Add(12, 2, 6), 10),
            Score(lineage_.Add(1, 9, 7), 10));
}

TEST_F(PolicyTest, SizePrefersTheLargestAtAnyTime) {
  Use("size");
  EXPECT_DOUBLE_EQ(Score(lineage_.Add(12, 4, 6), 6), 0.25);
  EXPECT_DOUBLE_EQ(Score(lineage_.Add(1, 2, 1), 100), 0.5);
}

TEST_F(PolicyTest, SquareRootOfStalenessKeepsTheOrderOfTheScore) {
  Use("score:cost=local,staleness=0.5");
  const Node& a = lineage_.Add(6, 2, 1);
  // cost / (bytes * sqrt(staleness)), squared.
  EXPECT_DOUBLE_EQ(Score(a, 10), 6.0 * 6 / (2 * 2 * 9));
}

TEST_F(PolicyTest, MspsCountsEvictedAncestorsOnly) {
  Use("msps");
  const auto chain = Chain({1, 2, 4, 8});
  Evict(*chain[1]);
  Evict(*chain[3]);
  EXPECT_DOUBLE_EQ(Score(*chain[2]), 4 + 2);
  Evict(*chain[0]);
  EXPECT_DOUBLE_EQ(Score(*chain[2]), 4 + 2 + 1);
}

TEST_F(PolicyTest, DtrCountsEachEvictedRelativeOnce) {
  Use("dtr");
  Node& a = lineage_.Add(1);
  Node& b = lineage_.Add(2);
  Node& c = lineage_.Add(4);
  Node& d = lineage_.Add(8);
  lineage_.Link(a, b);
  lineage_.Link(a, c);
  lineage_.Link(b, d);
  lineage_.Link(c, d);
  Evict(a);
  Evict(b);
  Evict(c);
  EXPECT_DOUBLE_EQ(Score(d), 8 + 1 + 2 + 4);
  Restore(a);
  EXPECT_DOUBLE_EQ(Score(d), 8 + 2 + 4);
  EXPECT_DOUBLE_EQ(Score(a), 1 + 2 + 4);
}

TEST_F(PolicyTest, DtrDoesNotLookBehindWhatIsResident) {
  Use("dtr");
  const auto chain = Chain({1, 2, 4, 8, 16});
  Evict(*chain[0]);
  Evict(*chain[2]);
  Evict(*chain[4]);
  EXPECT_DOUBLE_EQ(Score(*chain[3]), 8 + 4 + 16);
}

TEST_F(PolicyTest, EqCountsEachEvictedComponentNextToItOnce) {
  Use("dtr_eq");
  Node& a = lineage_.Add(1);
  Node& b = lineage_.Add(2);
  Node& c = lineage_.Add(4);
  Node& d = lineage_.Add(8);
  lineage_.Link(a, b);
  lineage_.Link(b, d);
  lineage_.Link(a, c);
  lineage_.Link(c, d);
  EXPECT_DOUBLE_EQ(Score(d), 8);
  Evict(b);
  EXPECT_DOUBLE_EQ(Score(d), 10);
  EXPECT_DOUBLE_EQ(Score(a), 3);
  EXPECT_DOUBLE_EQ(Score(c), 4);
  Evict(c);
  EXPECT_DOUBLE_EQ(Score(d), 14);  // two components
  Evict(a);                        // joins them
  EXPECT_DOUBLE_EQ(Score(d), 15);
}

TEST_F(PolicyTest, EqSubtractsWhatReturnsButDoesNotSplit) {
  Use("dtr_eq");
  const auto chain = Chain({1, 2, 4, 8});
  for (int i = 0; i < 3; ++i) Evict(*chain[i]);
  EXPECT_DOUBLE_EQ(Score(*chain[3]), 15);
  Restore(*chain[1]);
  EXPECT_DOUBLE_EQ(Score(*chain[3]), 13);  // the first is still in it
  policy_->OnForgotten(*chain[0]);
  EXPECT_DOUBLE_EQ(Score(*chain[3]), 12);
}

TEST_F(PolicyTest, RandomDependsOnTheSeedAndOnTheTimeOfAccess) {
  const Node& node = lineage_.Add(1, 1, 3);
  Use("random");
  const double score = Score(node);
  EXPECT_EQ(Score(node, 50), score);
  Use("random:seed=2");
  EXPECT_NE(Score(node), score);
  Use("random");
  lineage_.Add(1);
  Node again = node;
  again.last_access = 4;
  EXPECT_NE(Score(again), score);
}

}  // namespace
}  // namespace rekindle
