// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/placer.h"

#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

constexpr size_t kUnit = 512;
constexpr size_t kChunk = 4 * kUnit;
constexpr DeviceAddress kStart = 10 * kChunk;

// A region drawn one letter for each 512 bytes: '.' unmapped, 'c' cached, any
// other a live block.
class Picture {
 public:
  explicit Picture(const std::string& text, size_t tight_limit = kChunk)
      : map_(kChunk), placer_(map_, tight_limit) {
    map_.AddRegion(kStart, text.size() * kUnit);
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
      while (end < text.size() && text[end] == text[begin]) ++end;
      if (text[begin] == '.') continue;
      Range* range = map_.regions()[0]->next;
      while (range->end() <= kStart + begin * kUnit) range = range->next;
      map_.Assign(range, kStart + begin * kUnit, (end - begin) * kUnit,
                  text[begin] == 'c' ? RangeState::kCached : RangeState::kLive);
    }
    map_.CheckInvariants();
  }

  const Placer& placer() const { return placer_; }

  // Where the block would begin, in units; -1 for nowhere.
  int Mapped(size_t units) const {
    return Unit(placer_.FindMapped(units * kUnit));
  }
  int Any(size_t units, size_t max_new_chunks = 100) const {
    return Unit(placer_.FindAny(units * kUnit, max_new_chunks));
  }
  int At(int unit, size_t units) {
    map_.IndexByAddress();
    return Unit(placer_.FindAt(Address(unit), units * kUnit));
  }
  int Clear(size_t units, const std::vector<std::pair<int, int>>& busy) const {
    Intervals intervals;
    for (const auto& [begin, end] : busy) {
      intervals.push_back({Address(begin), Address(end)});
    }
    return Unit(placer_.FindClear(units * kUnit, intervals));
  }
  std::optional<Placement> AnyPlacement(size_t units,
                                        size_t max_new_chunks = 100) const {
    return placer_.FindAny(units * kUnit, max_new_chunks);
  }

 private:
  static DeviceAddress Address(int unit) {
    return kStart + static_cast<size_t>(unit) * kUnit;
  }
  static int Unit(const std::optional<Placement>& placement) {
    if (!placement.has_value()) return -1;
    return static_cast<int>((placement->address - kStart) / kUnit);
  }

  AddressMap map_;
  Placer placer_;
};

TEST(PlacerTest, MappedMemoryIsBestFit) {
  const Picture picture("ccccAcccBcAc");
  EXPECT_EQ(picture.Mapped(1), 11) << "of two the last that became free";
  EXPECT_EQ(picture.Mapped(2), 5);
  EXPECT_EQ(picture.Mapped(3), 5);
  EXPECT_EQ(picture.Mapped(4), 0);
  EXPECT_EQ(picture.Mapped(5), -1);
}

TEST(PlacerTest, UnmappedAddressesAreNotMapped) {
  EXPECT_EQ(Picture("....AAAA").Mapped(1), -1);
}

TEST(PlacerTest, TheEndThatTakesFewerChunksIsUsed) {
  // A live block ends within the first chunk or begins within the last.
  EXPECT_EQ(Picture("AAcccccc").Mapped(2), 2);
  EXPECT_EQ(Picture("ccccccBB").Mapped(2), 4);
}

TEST(PlacerTest, ABlockOfUpToAChunkLiesInOne) {
  EXPECT_EQ(Picture("AAAccBBB").Mapped(2), -1);
  EXPECT_EQ(Picture("AAAcccccBBBB").Mapped(3), 4);
  EXPECT_EQ(Picture("AAAcccBB").Mapped(2), 4);
  EXPECT_EQ(Picture("AAAcccccccBB").Mapped(4), 4);
}

TEST(PlacerTest, ALargerBlockMayBeginAnywhere) {
  EXPECT_EQ(Picture("AAAcccccBBBB").Mapped(5), 3);
  EXPECT_EQ(Picture("AAAccccccccB").Mapped(8), 3);
}

TEST(PlacerTest, UpToTheTightLimitNoChunkMoreIsTouched) {
  EXPECT_EQ(Picture("AAAccccccccB", 2 * kChunk).Mapped(8), -1);
  EXPECT_EQ(Picture("AAAccccccccB", 2 * kChunk).Mapped(7), 4);
  EXPECT_EQ(Picture("AccccccB", 2 * kChunk).Mapped(6), 1);
}

TEST(PlacerTest, ManyMisfitsDoNotHideAFit) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "AAAccBBB";
  EXPECT_EQ(Picture(text + "AAAAccccccccccccBBBB").Mapped(2), 164);
}

TEST(PlacerTest, ABlockThatNeedsMemorySharesAChunkWithANeighbour) {
  EXPECT_EQ(Picture("........AAcc........").Any(5), 10);
  EXPECT_EQ(Picture("........AAAA........ccAA").Any(6), 16);
}

TEST(PlacerTest, TheFewestChunksAreMapped) {
  // Two cached chunks between unmapped ones, or fresh addresses.
  const Picture picture("................AAAA....cccccccc....BBBB");
  EXPECT_EQ(picture.Any(12), 20);
  EXPECT_EQ(picture.AnyPlacement(12)->unmapped_chunks, 1u);
  EXPECT_EQ(picture.AnyPlacement(12)->new_chunks, 3u);
}

TEST(PlacerTest, AHoleWithTailsTakesABlockThatFillsIt) {
  const Picture picture("AAcc....ccBB....");
  EXPECT_EQ(picture.Any(8), 2);
  EXPECT_EQ(picture.AnyPlacement(8)->unmapped_chunks, 1u);
  EXPECT_EQ(picture.AnyPlacement(8)->new_chunks, 1u);
}

TEST(PlacerTest, SuchAHoleIsFoundAmongLargerRanges) {
  std::string text = "AAcc....ccBB";
  for (int i = 0; i < 9; ++i) text += "AcccBBBB";
  EXPECT_EQ(Picture(text + "........").Any(8), 2);
}

TEST(PlacerTest, TheLimitOfNewChunksIsKept) {
  const Picture picture("AAcc....ccBB............");
  EXPECT_EQ(picture.Any(8, 1), 2);
  EXPECT_EQ(picture.Any(12, 3), 12);
  EXPECT_EQ(picture.Any(12, 2), -1);
  EXPECT_EQ(picture.Any(12, 0), -1);
  EXPECT_EQ(picture.Any(2, 0), 8);
}

TEST(PlacerTest, NothingFitsWhereNoStretchIsLongEnough) {
  EXPECT_EQ(Picture("....AAAA....AAAA").Any(5), -1);
}

TEST(PlacerTest, TheWorstCaseIsOneChunkMoreAboveTheTightLimit) {
  const Picture picture("....");
  const Placer& placer = picture.placer();
  EXPECT_EQ(placer.MostChunks(kUnit, kUnit), 1u);
  EXPECT_EQ(placer.MostChunks(4 * kUnit, kUnit), 1u);
  EXPECT_EQ(placer.MostChunks(5 * kUnit, kUnit), 2u);
  EXPECT_EQ(placer.MostChunks(6 * kUnit, kUnit), 3u);
  EXPECT_EQ(placer.MostChunks(8 * kUnit, kUnit), 3u);
  EXPECT_EQ(placer.MostChunks(9 * kUnit, kUnit), 3u);
  EXPECT_EQ(placer.MostChunks(10 * kUnit, kUnit), 4u);
}

TEST(PlacerTest, MemoryThatCanGrowIsKeptForLast) {
  // Three units between live blocks, two beside unmapped addresses.
  EXPECT_EQ(Picture("ABcccBAB....AAcc........").Mapped(2), 2);
  // The smaller of two stretches that can grow.
  EXPECT_EQ(Picture("cccc............AAAAcccc....BBBB").Mapped(3), 20);
}

TEST(PlacerTest, AnAddressIsTakenIfAllOfItIsFree) {
  Picture picture("AcccccBB....cccc");
  EXPECT_EQ(picture.At(2, 3), 2);
  EXPECT_EQ(picture.At(1, 5), 1);
  EXPECT_EQ(picture.At(1, 6), -1);
  EXPECT_EQ(picture.At(0, 1), -1);
  EXPECT_EQ(picture.At(8, 1), -1) << "not mapped";
}

TEST(PlacerTest, BusyAddressesAreLeftAlone) {
  const Picture picture("AAAAccccccccccccccccBBBBccccccccAAAA");
  EXPECT_EQ(picture.Clear(5, {}), 24) << "the part that it fits best";
  EXPECT_EQ(picture.Clear(5, {{26, 28}}), 4);
  EXPECT_EQ(picture.Clear(5, {{6, 8}, {26, 28}}), 8);
  EXPECT_EQ(picture.Clear(5, {{0, 10}, {15, 40}}), 10);
  EXPECT_EQ(picture.Clear(5, {{6, 8}, {12, 16}, {26, 28}}), -1);
}

// Every unit is its own stretch of live, cached or unmapped addresses.
std::string RandomText(std::mt19937_64& random) {
  std::string text;
  for (int chunk = 0; chunk < 12; ++chunk) {
    if (random() % 2 == 0) {
      text += "....";
      continue;
    }
    for (size_t i = 0; i < kChunk / kUnit; ++i) {
      text += random() % 2 == 0 ? 'c' : "AB"[random() % 2];
    }
  }
  return text;
}

struct Fit {
  size_t unmapped = 0;
  size_t fresh = 0;
};

// What a block at units [begin, begin + units) takes, by looking at each unit.
std::optional<Fit> Naive(const std::string& text, size_t begin, size_t units,
                         size_t tight_units) {
  const size_t per_chunk = kChunk / kUnit;
  for (size_t i = begin; i < begin + units; ++i) {
    if (text[i] != '.' && text[i] != 'c') return std::nullopt;
  }
  const size_t first = begin / per_chunk;
  const size_t last = (begin + units - 1) / per_chunk;
  const size_t least = (units + per_chunk - 1) / per_chunk;
  if (units <= tight_units && last - first + 1 > least) return std::nullopt;
  Fit fit;
  for (size_t chunk = first; chunk <= last; ++chunk) {
    const std::string part = text.substr(chunk * per_chunk, per_chunk);
    fit.unmapped += part == "....";
    fit.fresh += part.find_first_not_of(".c") == std::string::npos;
  }
  return fit;
}

TEST(PlacerRandomTest, FindsWhatTryingEveryAddressFinds) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    std::mt19937_64 random(seed);
    const std::string text = RandomText(random);
    const size_t tight_units = random() % 2 == 0 ? 4 : 100;
    const Picture picture(text, tight_units * kUnit);
    const size_t units = 1 + random() % 20;
    const size_t limit = random() % 6;
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + text + " units " +
                 std::to_string(units));
    bool possible = false;
    bool mapped = false;
    for (size_t i = 0; i + units <= text.size(); ++i) {
      const std::optional<Fit> fit = Naive(text, i, units, tight_units);
      if (!fit.has_value()) continue;
      possible = possible || fit->fresh <= limit;
      mapped = mapped || fit->unmapped == 0;
    }
    const int found = picture.Mapped(units);
    EXPECT_EQ(found >= 0, mapped);
    if (found >= 0) {
      const auto fit =
          Naive(text, static_cast<size_t>(found), units, tight_units);
      ASSERT_TRUE(fit.has_value());
      EXPECT_EQ(fit->unmapped, 0u);
    }
    if (mapped) continue;
    const std::optional<Placement> any = picture.AnyPlacement(units, limit);
    EXPECT_EQ(any.has_value(), possible);
    if (!any.has_value()) continue;
    const auto fit =
        Naive(text, (any->address - kStart) / kUnit, units, tight_units);
    ASSERT_TRUE(fit.has_value());
    EXPECT_EQ(any->unmapped_chunks, fit->unmapped);
    EXPECT_EQ(any->new_chunks, fit->fresh);
    EXPECT_LE(fit->fresh, RoundUp(units * kUnit, kChunk) / kChunk);
    EXPECT_LE(any->first->address, any->address);
    EXPECT_GT(any->first->end(), any->address);
  }
}

}  // namespace
}  // namespace rekindle
