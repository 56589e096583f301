// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/evicted_components.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/evictor/policies.h"
#include "rekindle/evictor/scan_index.h"
#include "tests/evictor/toy_lineage.h"

namespace rekindle {
namespace {

// A chain of which a few nodes are evicted at any time, for a long time.
TEST(EvictedComponentsTest, MemoryFollowsWhatIsEvictedNotWhatWas) {
  ToyLineage lineage;
  const auto policy = MakePolicy("lru").value();
  ScanIndex index(*policy);
  EvictedComponents components;
  components.Attach(lineage, index);
  std::vector<Node*> chain = {&lineage.Add(1)};
  for (int i = 1; i < 100; ++i) {
    chain.push_back(&lineage.Add(1));
    lineage.Link(*chain[chain.size() - 2], *chain.back());
  }
  std::mt19937 random(1);
  size_t evicted = 0;
  for (int i = 0; i < 100000; ++i) {
    Node& node = *chain[random() % chain.size()];
    if (node.component != Node::kNowhere) {
      components.OnResident(node);
      --evicted;
    } else if (evicted < 10) {
      components.OnEvicted(node);
      ++evicted;
    }
    ASSERT_LE(components.entries(), 200u);
  }
}

TEST(EvictedComponentsTest, CostSurvivesCompaction) {
  ToyLineage lineage;
  const auto policy = MakePolicy("lru").value();
  ScanIndex index(*policy);
  EvictedComponents components;
  components.Attach(lineage, index);
  Node& kept = lineage.Add(5);
  Node& next = lineage.Add(1);
  lineage.Link(kept, next);
  components.OnEvicted(kept);
  // Each of these joins the component of `kept` and leaves it again.
  for (int i = 0; i < 1000; ++i) {
    Node& passing = lineage.Add(3);
    lineage.Link(kept, passing);
    components.OnEvicted(passing);
    components.OnResident(passing);
  }
  EXPECT_LE(components.entries(), 100u);
  EXPECT_DOUBLE_EQ(components.CostAround(next), 5);
}

TEST(EvictedComponentsTest, EmptiedComponentIsReused) {
  ToyLineage lineage;
  const auto policy = MakePolicy("lru").value();
  ScanIndex index(*policy);
  EvictedComponents components;
  components.Attach(lineage, index);
  Node& node = lineage.Add(5);
  for (int i = 0; i < 1000; ++i) {
    components.OnEvicted(node);
    components.OnResident(node);
  }
  EXPECT_LE(components.entries(), 100u);
}

}  // namespace
}  // namespace rekindle
