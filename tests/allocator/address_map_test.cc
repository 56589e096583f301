// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/address_map.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace rekindle {
namespace {

constexpr size_t kChunk = 4096;
constexpr DeviceAddress kStart = 16 * kChunk;

// One region of 8 chunks.
class AddressMapTest : public testing::Test {
 protected:
  AddressMapTest() { map_.AddRegion(kStart, 8 * kChunk); }
  ~AddressMapTest() override { map_.CheckInvariants(); }

  Range* First() { return map_.regions()[0]->next; }

  // "U4096 C512 L..." from the first range to the last.
  std::string Text() {
    std::string text;
    for (Range* range = First(); range->next != nullptr; range = range->next) {
      text += "UCL"[static_cast<size_t>(range->state)];
      text += std::to_string(range->bytes) + " ";
    }
    return text;
  }

  static Range* BestFit(const SizeIndex& index, size_t bytes) {
    return index.Find(bytes, [](Range*) { return true; });
  }

  AddressMap map_{kChunk};
};

TEST_F(AddressMapTest, ARegionIsOneUnmappedRange) {
  EXPECT_EQ(Text(), "U32768 ");
  EXPECT_EQ(First()->address, kStart);
  EXPECT_EQ(map_.live_bytes(), 0u);
  EXPECT_EQ(map_.idle_chunks(), 0u);
}

TEST_F(AddressMapTest, APartIsCutOutOfTheMiddle) {
  map_.Assign(First(), kStart + kChunk, kChunk, RangeState::kCached);
  EXPECT_EQ(Text(), "U4096 C4096 U24576 ");
  Range* const cached = First()->next;
  map_.Assign(cached, kStart + kChunk + 512, 1024, RangeState::kLive);
  EXPECT_EQ(Text(), "U4096 C512 L1024 C2560 U24576 ");
  EXPECT_EQ(map_.live_bytes(), 1024u);
}

TEST_F(AddressMapTest, AFreedRangeMergesWithBothNeighbours) {
  Range* const cached = map_.Assign(First(), RangeState::kCached);
  Range* const live = map_.Assign(cached, kStart + 512, 512, RangeState::kLive);
  EXPECT_EQ(Text(), "C512 L512 C31744 ");
  EXPECT_EQ(map_.Assign(live, RangeState::kCached)->bytes, 8 * kChunk);
  EXPECT_EQ(Text(), "C32768 ");
}

TEST_F(AddressMapTest, LiveNeighboursStayApart) {
  Range* const first = map_.Assign(First(), kStart, 512, RangeState::kLive);
  map_.Assign(first->next, kStart + 512, 512, RangeState::kLive);
  EXPECT_EQ(Text(), "L512 L512 U31744 ");
  map_.Assign(First()->next->next, RangeState::kCached);
  map_.Assign(First(), RangeState::kCached);
  EXPECT_EQ(Text(), "C512 L512 C31744 ");
  map_.Assign(First()->next, RangeState::kUnmapped);
  map_.Assign(First(), RangeState::kUnmapped);
  map_.Assign(First()->next, RangeState::kUnmapped);
}

TEST_F(AddressMapTest, BestFitIsTheSmallest) {
  Range* const all = map_.Assign(First(), RangeState::kCached);
  // Leaves free ranges of 1024, 512, 1024 and the rest.
  map_.Assign(all, kStart + 1024, 512, RangeState::kLive);
  map_.Assign(First()->next->next, kStart + 2048, 512, RangeState::kLive);
  Range* const rest = First()->next->next->next->next;
  map_.Assign(rest, kStart + 3584, 512, RangeState::kLive);
  EXPECT_EQ(Text(), "C1024 L512 C512 L512 C1024 L512 C28672 ");
  EXPECT_EQ(BestFit(map_.enclosed(), 512)->address, kStart + 1536);
  EXPECT_EQ(BestFit(map_.enclosed(), 1024)->bytes, 1024u);
  EXPECT_EQ(BestFit(map_.enclosed(), 1536)->bytes, 28672u);
  EXPECT_EQ(BestFit(map_.enclosed(), 28673), nullptr);
  EXPECT_EQ(BestFit(map_.unmapped(), 512), nullptr);
}

TEST_F(AddressMapTest, ChunksInCachedRangesAreIdle) {
  Range* const cached =
      map_.Assign(First(), kStart, 4 * kChunk, RangeState::kCached);
  EXPECT_EQ(map_.idle_chunks(), 4u);
  Range* const live =
      map_.Assign(cached, kStart + kChunk - 512, 1024, RangeState::kLive);
  EXPECT_EQ(map_.idle_chunks(), 2u);
  map_.Assign(live, RangeState::kCached);
  EXPECT_EQ(map_.idle_chunks(), 4u);
}

TEST_F(AddressMapTest, CachedRangesBesideUnmappedOnesAreOpen) {
  Range* const cached =
      map_.Assign(First(), kStart + kChunk, 2 * kChunk, RangeState::kCached);
  EXPECT_EQ(map_.open().size(), 1u);
  EXPECT_TRUE(cached->open);
  map_.Assign(cached->next, RangeState::kLive);
  EXPECT_TRUE(cached->open);
  map_.Assign(cached->previous, RangeState::kLive);
  EXPECT_FALSE(cached->open);
  EXPECT_EQ(map_.enclosed().size(), 1u);
  map_.Assign(cached->previous, RangeState::kUnmapped);
  EXPECT_TRUE(cached->open);
}

TEST_F(AddressMapTest, CachedRangesAreFoundByAddress) {
  map_.Assign(First(), kStart + kChunk, 2 * kChunk, RangeState::kCached);
  map_.IndexByAddress();
  EXPECT_EQ(map_.CachedAt(kStart), nullptr);
  EXPECT_EQ(map_.CachedAt(kStart + kChunk), First()->next);
  EXPECT_EQ(map_.CachedAt(kStart + 3 * kChunk - 1), First()->next);
  EXPECT_EQ(map_.CachedAt(kStart + 3 * kChunk), nullptr);
}

TEST_F(AddressMapTest, RegionsStayApart) {
  map_.AddRegion(kStart + 9 * kChunk, kChunk);
  EXPECT_EQ(map_.regions().size(), 2u);
  EXPECT_EQ(Text(), "U32768 ");
  EXPECT_EQ(BestFit(map_.unmapped(), 1)->bytes, kChunk);
  EXPECT_EQ(map_.unmapped().size(), 2u);
}

using AddressMapDeathTest = AddressMapTest;

TEST_F(AddressMapDeathTest, ThePartMustLieInTheRange) {
  EXPECT_DEATH(map_.Assign(First(), kStart - 512, 1024, RangeState::kLive),
               "lies in");
  EXPECT_DEATH(map_.Assign(First(), kStart, 9 * kChunk, RangeState::kLive),
               "lies in");
  EXPECT_DEATH(map_.Assign(First(), kStart, 0, RangeState::kLive), "lies in");
}

TEST_F(AddressMapDeathTest, ARegionIsMadeOfWholeChunks) {
  EXPECT_DEATH(map_.AddRegion(kStart + 100 * kChunk, 512), "whole chunks");
}

// Random assignments against one state for each 512 bytes.
TEST(AddressMapRandomTest, AgreesWithOneStatePerUnit) {
  constexpr size_t kUnit = 512;
  constexpr size_t kUnits = 256;
  constexpr size_t kUnitsPerChunk = kChunk / kUnit;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    AddressMap map(kChunk);
    map.AddRegion(kStart, kUnits * kUnit);
    if (seed % 2 == 0) map.IndexByAddress();
    std::vector<RangeState> model(kUnits, RangeState::kUnmapped);
    for (int step = 0; step < 3000; ++step) {
      // Any range of the map, found through the model.
      Range* range = map.regions()[0]->next;
      for (size_t skip = random() % 8; skip > 0 && range->next->next != nullptr;
           --skip) {
        range = range->next;
      }
      size_t begin = (range->address - kStart) / kUnit;
      size_t end = (range->end() - kStart) / kUnit;
      RangeState state;
      if (range->state == RangeState::kUnmapped) {
        const size_t chunks = (end - begin) / kUnitsPerChunk;
        begin += random() % chunks * kUnitsPerChunk;
        end = begin + kUnitsPerChunk;
        state = RangeState::kCached;
      } else if (range->state == RangeState::kLive) {
        state = RangeState::kCached;
      } else if (begin % kUnitsPerChunk == 0 && end % kUnitsPerChunk == 0 &&
                 random() % 2 == 0) {
        state = RangeState::kUnmapped;
      } else {
        begin += random() % (end - begin);
        end = begin + 1 + random() % (end - begin);
        state = RangeState::kLive;
      }
      map.Assign(range, kStart + begin * kUnit, (end - begin) * kUnit, state);
      for (size_t i = begin; i < end; ++i) model[i] = state;
      map.CheckInvariants();
      size_t live = 0;
      for (const RangeState unit : model) live += unit == RangeState::kLive;
      ASSERT_EQ(map.live_bytes(), live * kUnit);
      size_t at = 0;
      for (const Range* r = map.regions()[0]->next; r->next != nullptr;
           r = r->next) {
        for (size_t n = r->bytes / kUnit; n > 0; --n) {
          ASSERT_EQ(model[at++], r->state) << "unit " << at - 1;
        }
      }
      ASSERT_EQ(at, kUnits);
    }
  }
}

}  // namespace
}  // namespace rekindle
