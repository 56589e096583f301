// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/size_index.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace rekindle {
namespace {

// Ranges that are in no map: the index looks at nothing but their size.
class SizeIndexTest : public testing::Test {
 protected:
  Range* Add(size_t bytes) {
    ranges_.push_back(std::make_unique<Range>());
    ranges_.back()->bytes = bytes;
    index_.Insert(ranges_.back().get());
    return ranges_.back().get();
  }

  Range* BestFit(size_t bytes) const {
    return index_.Find(bytes, [](Range*) { return true; });
  }

  SizeIndex index_;
  std::vector<std::unique_ptr<Range>> ranges_;
};

TEST_F(SizeIndexTest, AnEmptyIndexHasNothing) {
  EXPECT_EQ(BestFit(0), nullptr);
  EXPECT_EQ(index_.FindFromLargest([](Range*) { return true; }), nullptr);
  EXPECT_EQ(index_.size(), 0u);
}

TEST_F(SizeIndexTest, TheSmallestThatIsLargeEnoughIsFound) {
  Range* const small = Add(512);
  Range* const large = Add(size_t{1} << 40);
  Range* const middle = Add(1536);
  EXPECT_EQ(BestFit(1), small);
  EXPECT_EQ(BestFit(512), small);
  EXPECT_EQ(BestFit(513), middle);
  EXPECT_EQ(BestFit(1537), large);
  EXPECT_EQ(BestFit((size_t{1} << 40) + 1), nullptr);
}

TEST_F(SizeIndexTest, OfOneSizeTheLastInsertedComesFirst) {
  Range* const first = Add(4096);
  Range* const second = Add(4096);
  Range* const third = Add(4096);
  EXPECT_EQ(BestFit(4096), third);
  index_.Erase(second);
  index_.Erase(third);
  EXPECT_EQ(BestFit(4096), first);
  EXPECT_FALSE(index_.Contains(*second));
  EXPECT_TRUE(index_.Contains(*first));
  index_.Erase(first);
  EXPECT_EQ(BestFit(0), nullptr);
}

TEST_F(SizeIndexTest, ASearchGoesOnUntilItIsTold) {
  for (const size_t bytes : {512, 1024, 1024, 8192}) Add(bytes);
  std::vector<size_t> seen;
  const auto record = [&](Range* range) {
    seen.push_back(range->bytes);
    return false;
  };
  EXPECT_EQ(index_.Find(600, record), nullptr);
  EXPECT_EQ(seen, (std::vector<size_t>{1024, 1024, 8192}));
  seen.clear();
  index_.FindFromLargest(record);
  EXPECT_EQ(seen, (std::vector<size_t>{8192, 1024, 1024, 512}));
}

TEST_F(SizeIndexTest, AgreesWithASortedList) {
  std::mt19937_64 random(1);
  std::vector<size_t> model;
  for (int step = 0; step < 20000; ++step) {
    if (ranges_.empty() || random() % 2 == 0) {
      const size_t bytes = (1 + random() % 1000) << (random() % 30);
      Add(bytes);
      model.insert(std::lower_bound(model.begin(), model.end(), bytes), bytes);
    } else {
      std::swap(ranges_[random() % ranges_.size()], ranges_.back());
      const Range& range = *ranges_.back();
      ASSERT_TRUE(index_.Contains(range));
      index_.Erase(ranges_.back().get());
      model.erase(std::lower_bound(model.begin(), model.end(), range.bytes));
      ranges_.pop_back();
    }
    const size_t wanted = (random() % 1000) << (random() % 30);
    const auto expected = std::lower_bound(model.begin(), model.end(), wanted);
    const Range* const found = BestFit(wanted);
    ASSERT_EQ(found != nullptr, expected != model.end());
    if (found != nullptr) {
      ASSERT_EQ(found->bytes, *expected);
    }
    ASSERT_EQ(index_.size(), model.size());
  }
}

}  // namespace
}  // namespace rekindle
