// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/slab_compaction.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rekindle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kPage = 4096;
constexpr size_t kAll = ~size_t{0};

class PagesToEmptyTest : public testing::Test {
 protected:
  // The n-th page has the address n.
  void Add(size_t live, DeviceAddress chunk = 0, size_t size_class = 0) {
    pages_.push_back({pages_.size() + 1, size_class, 10, live, chunk});
  }

  std::vector<DeviceAddress> Chosen(size_t bytes = kAll) {
    return PagesToEmpty(pages_, kPage, bytes,
                        [&](DeviceAddress page) { return page != stuck_; });
  }

  std::vector<PageUse> pages_;
  DeviceAddress stuck_ = 0;
};

TEST_F(PagesToEmptyTest, NoneWhereNoPageCanGo) {
  EXPECT_THAT(Chosen(), IsEmpty());
  Add(10);
  Add(9);
  Add(2);
  EXPECT_THAT(Chosen(), IsEmpty()) << "8 + 1 free slots, not 10";
}

TEST_F(PagesToEmptyTest, ThoseWithTheFewestBlocksFirst) {
  for (const size_t live : {6, 1, 7, 3}) Add(live);
  EXPECT_THAT(Chosen(), ElementsAre(2, 4)) << "23 free slots";
}

TEST_F(PagesToEmptyTest, OfEqualsTheOneAtTheHighestAddress) {
  for (int i = 0; i < 4; ++i) Add(5);
  EXPECT_THAT(Chosen(), ElementsAre(4, 3));
}

TEST_F(PagesToEmptyTest, FullPagesCanGoToo) {
  Add(10, 64);
  Add(0, 128);
  EXPECT_THAT(Chosen(), ElementsAre(2)) << "but sparse ones go before";
}

TEST_F(PagesToEmptyTest, NoMoreThanWasAskedFor) {
  for (int i = 0; i < 6; ++i) Add(1);
  EXPECT_THAT(Chosen(1), ElementsAre(6));
  EXPECT_THAT(Chosen(kPage + 1), ElementsAre(6, 5));
  EXPECT_THAT(Chosen(0), IsEmpty());
}

TEST_F(PagesToEmptyTest, ClassesDoNotHelpEachOther) {
  Add(5, 0, 0);
  Add(5, 0, 1);
  EXPECT_THAT(Chosen(), IsEmpty());
  Add(5, 0, 1);
  EXPECT_THAT(Chosen(), ElementsAre(3));
}

TEST_F(PagesToEmptyTest, PagesThatMustStayTakeWhatOthersHad) {
  for (const size_t live : {1, 2, 9}) Add(live);
  stuck_ = 1;
  EXPECT_THAT(Chosen(), ElementsAre(2));
}

// Two sparse pages in chunks that stay, and two fuller ones alone in a chunk.
class ChunksToEmptyTest : public PagesToEmptyTest {
 protected:
  ChunksToEmptyTest() {
    Add(2);
    Add(3);
    Add(4, 64);
    Add(4, 64);
    Add(8);
  }
};

TEST_F(ChunksToEmptyTest, AreOfUseToALargeRequest) {
  EXPECT_THAT(Chosen(2 * kPage), ElementsAre(3, 4));
}

TEST_F(ChunksToEmptyTest, AreOfNoUseToASmallOne) {
  EXPECT_THAT(Chosen(kPage), ElementsAre(1));
}

TEST_F(ChunksToEmptyTest, GoWholeOrNotAtAll) {
  stuck_ = 4;
  EXPECT_THAT(Chosen(2 * kPage), ElementsAre(1, 2));
}

TEST_F(ChunksToEmptyTest, TheOneWithTheFewestBlocksGoesFirst) {
  Add(1, 128);
  Add(1, 128);
  EXPECT_THAT(Chosen(2 * kPage), ElementsAre(6, 7));
}

}  // namespace
}  // namespace rekindle
