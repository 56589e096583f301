// SPDX-License-Identifier: Apache-2.0
#include "rekindle/base/units.h"

#include "gtest/gtest.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

TEST(UnitsTest, FormatsInTheLargestUnitReached) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(17), "17 B");
  EXPECT_EQ(FormatBytes(1536), "1.50 KiB");
  EXPECT_EQ(FormatBytes(300 * kMiB), "300.00 MiB");
  EXPECT_EQ(FormatBytes(3 * kGiB / 2), "1.50 GiB");
}

TEST(UnitsTest, FormatAtLeastRoundsUp) {
  EXPECT_EQ(FormatBytesAtLeast(17), "17 B");
  EXPECT_EQ(FormatBytesAtLeast(kMiB), "1.00 MiB");
  EXPECT_EQ(FormatBytesAtLeast(kMiB + 1), "1.01 MiB");
  EXPECT_EQ(FormatBytesAtLeast(kGiB - 1), "1.00 GiB");
}

TEST(UnitsTest, WhatFormatAtLeastSaysIsEnough) {
  for (size_t bytes = 1; bytes < (size_t{1} << 45); bytes += bytes / 7 + 1) {
    const size_t read = ParseBytes(FormatBytesAtLeast(bytes)).value();
    EXPECT_GE(read, bytes);
    EXPECT_LE(read, bytes + bytes / 90 + 1);
  }
}

TEST(UnitsTest, ParsesBinaryAndDecimalUnits) {
  EXPECT_EQ(ParseBytes("8GiB").value(), 8 * kGiB);
  EXPECT_EQ(ParseBytes("1.5 KiB").value(), 1536u);
  EXPECT_EQ(ParseBytes("8GB").value(), 8000000000u);
  EXPECT_EQ(ParseBytes(" 7 B ").value(), 7u);
}

TEST(UnitsTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", "12", "GiB", "-1GiB", "1gib", "1.2.3GiB", "1 G",
                           "nanGiB", "1e3MiB", "9999999999TiB"}) {
    EXPECT_THAT(ParseBytes(text), IsInvalidArgument()) << text;
  }
}

TEST(UnitsTest, RoundsToMultiples) {
  EXPECT_EQ(RoundUp(1, 512), 512u);
  EXPECT_EQ(RoundUp(512, 512), 512u);
  EXPECT_EQ(RoundDown(1023, 512), 512u);
}

}  // namespace
}  // namespace rekindle
