// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/host/extent_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

constexpr size_t kPage = 4096;

class ExtentFileTest : public testing::Test {
 protected:
  uint64_t Take(size_t pages) { return file_->Take(pages * kPage).value(); }
  void Give(uint64_t offset, size_t pages) {
    file_->Give(offset, pages * kPage);
  }

  struct stat Stat() const {
    struct stat stat = {};
    EXPECT_EQ(fstat(file_->descriptor(), &stat), 0);
    return stat;
  }

  const std::unique_ptr<ExtentFile> file_ = ExtentFile::Create().value();
};

TEST_F(ExtentFileTest, ExtentsFollowOneAnother) {
  EXPECT_EQ(Take(2), 0u);
  EXPECT_EQ(Take(3), 2 * kPage);
  EXPECT_EQ(Take(1), 5 * kPage);
  EXPECT_EQ(Stat().st_size, static_cast<off_t>(6 * kPage));
}

TEST_F(ExtentFileTest, TheLowestThatFitsIsTakenAgain) {
  Take(8);
  Give(1 * kPage, 1);
  Give(3 * kPage, 2);
  EXPECT_EQ(Take(2), 3 * kPage);
  EXPECT_EQ(Take(1), 1 * kPage);
  EXPECT_EQ(Take(1), 8 * kPage);
}

TEST_F(ExtentFileTest, PartsOfAnExtentAreTaken) {
  Take(8);
  Give(2 * kPage, 4);
  EXPECT_EQ(Take(1), 2 * kPage);
  EXPECT_EQ(Take(3), 3 * kPage);
}

TEST_F(ExtentFileTest, NeighboursMerge) {
  Take(8);
  Give(4 * kPage, 1);
  Give(2 * kPage, 1);
  Give(3 * kPage, 1);
  EXPECT_EQ(Take(3), 2 * kPage);
  Give(2 * kPage, 3);
  Give(5 * kPage, 2);
  EXPECT_EQ(Take(5), 2 * kPage);
}

TEST_F(ExtentFileTest, PagesComeWithTheFirstWriteAndGoWithTheExtent) {
  const uint64_t offset = Take(16);
  EXPECT_EQ(Stat().st_blocks, 0);
  const char byte = 1;
  ASSERT_EQ(pwrite(file_->descriptor(), &byte, 1, 0), 1);
  EXPECT_GT(Stat().st_blocks, 0);
  Give(offset, 16);
  EXPECT_EQ(Stat().st_blocks, 0);
}

TEST_F(ExtentFileTest, AFileThatCannotGrowIsExhausted) {
  EXPECT_THAT(file_->Take(~size_t{0} - kPage + 1), IsResourceExhausted());
  EXPECT_EQ(Take(1), 0u);
}

}  // namespace
}  // namespace rekindle
