// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/placement_history.h"

#include <vector>

#include "gtest/gtest.h"

namespace rekindle {
namespace {

using Entry = PlacementHistory::Entry;

std::vector<DeviceAddress> Later(const PlacementHistory& history,
                                 const Entry& entry, uint64_t most = 1000) {
  std::vector<DeviceAddress> addresses;
  history.VisitLater(entry, most, [&](const Entry& later) {
    addresses.push_back(later.address);
  });
  return addresses;
}

TEST(PlacementHistoryTest, NothingIsKnownAtFirst) {
  PlacementHistory history;
  EXPECT_FALSE(history.Recall(0, 512).has_value());
  history.Record(0, 512, 0x1000);
  EXPECT_FALSE(history.Recall(512, 512).has_value()) << "other live bytes";
  EXPECT_FALSE(history.Recall(0, 1024).has_value()) << "another size";
}

TEST(PlacementHistoryTest, TheSameSituationIsTheSameBlock) {
  PlacementHistory history;
  history.Record(0, 512, 0x1000);
  history.Record(512, 512, 0x2000);
  EXPECT_EQ(history.Recall(512, 512)->address, 0x2000u);
  EXPECT_EQ(history.Recall(0, 512)->address, 0x1000u);
}

TEST(PlacementHistoryTest, OfTwoThatFitTheOneThatFollowsIsMeant) {
  PlacementHistory history;
  history.Record(0, 1024, 0x1000);
  history.Record(1024, 512, 0x2000);
  history.Record(0, 2048, 0x3000);
  history.Record(1024, 512, 0x4000);
  ASSERT_TRUE(history.Recall(0, 1024).has_value());
  EXPECT_EQ(history.Recall(1024, 512)->address, 0x2000u);
}

TEST(PlacementHistoryTest, ASequenceIsFollowedWhenMoreIsAlive) {
  PlacementHistory history;
  history.Record(0, 1024, 0x1000);
  history.Record(1024, 512, 0x2000);
  ASSERT_TRUE(history.Recall(0, 1024).has_value());
  EXPECT_EQ(history.Recall(9999, 512)->address, 0x2000u);
  EXPECT_FALSE(history.Recall(9999, 512).has_value()) << "it ends there";
}

TEST(PlacementHistoryTest, LaterBlocksAreThoseOfItsLife) {
  PlacementHistory history;
  const uint64_t first = history.Record(0, 512, 0x1000);
  history.Record(512, 512, 0x2000);
  history.Record(1024, 512, 0x3000);
  history.End(first);
  history.Record(1024, 1024, 0x4000);
  const Entry entry = *history.Recall(0, 512);
  EXPECT_EQ(Later(history, entry),
            (std::vector<DeviceAddress>{0x2000, 0x3000}));
  EXPECT_EQ(Later(history, entry, 2), (std::vector<DeviceAddress>{0x2000}));
}

TEST(PlacementHistoryTest, OldBlocksAreForgotten) {
  PlacementHistory history;
  const uint64_t first = history.Record(7, 512, 0x1000);
  for (size_t i = 0; i < PlacementHistory::kCapacity; ++i) {
    history.Record(1024, 1024, 0x2000);
  }
  EXPECT_FALSE(history.Recall(7, 512).has_value());
  history.End(first);
  EXPECT_TRUE(history.Recall(1024, 1024).has_value());
}

}  // namespace
}  // namespace rekindle
