// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/evicted_components.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/evictor/toy_lineage.h"

namespace rekindle {
namespace {

// A chain of which a few nodes are evicted at any time, for a long time.
TEST(EvictedComponentsTest, MemoryFollowsWhatIsEvictedNotWhatWas) {
  ToyLineage lineage;
  EvictedComponents components;
  std::vector<Node*> chain = {&lineage.Add(1)};
  for (int i = 1; i < 100; ++i) {
    chain.push_back(&lineage.Add(1));
    lineage.Link(*chain[chain.size() - 2], *chain.back());
  }
  std::mt19937 random(1);
  size_t evicted = 0;
  for (int i = 0; i < 100000; ++i) {
    Node& node = *chain[random() % chain.size()];
    if (EvictedComponents::Contains(node)) {
      components.Remove(node);
      --evicted;
    } else if (evicted < 10) {
      components.Add(node, lineage);
      ++evicted;
    }
    ASSERT_LE(components.entries(), 200u);
  }
}

TEST(EvictedComponentsTest, CostSurvivesCompaction) {
  ToyLineage lineage;
  EvictedComponents components;
  Node& kept = lineage.Add(5);
  Node& next = lineage.Add(1);
  lineage.Link(kept, next);
  components.Add(kept, lineage);
  // Each of these joins the component of `kept` and leaves it again.
  for (int i = 0; i < 1000; ++i) {
    Node& passing = lineage.Add(3);
    lineage.Link(kept, passing);
    components.Add(passing, lineage);
    components.Remove(passing);
  }
  EXPECT_LE(components.entries(), 100u);
  EXPECT_DOUBLE_EQ(components.NeighbourCost(next, lineage), 5);
}

TEST(EvictedComponentsTest, EmptiedComponentIsReused) {
  ToyLineage lineage;
  EvictedComponents components;
  Node& node = lineage.Add(5);
  for (int i = 0; i < 1000; ++i) {
    components.Add(node, lineage);
    components.Remove(node);
  }
  EXPECT_LE(components.entries(), 100u);
}

}  // namespace
}  // namespace rekindle
