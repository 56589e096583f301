// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rekindle::ops::host {
namespace {

TEST(ExpTest, IsWithinItsErrorBoundEverywhere) {
  double worst = 0.0;
  for (float x = kExpLow; x <= kExpHigh; x += 0.00037f) {
    const double want = std::exp(double{x});
    const float rounded = static_cast<float>(want);
    const float unit =
        std::nextafter(rounded, std::numeric_limits<float>::infinity()) -
        rounded;
    if (std::isinf(unit)) continue;
    worst = std::max(worst, std::abs(Exp(x) - want) / unit);
  }
  EXPECT_LT(worst, 1.5);
}

TEST(ExpTest, IsExactAtZero) { EXPECT_EQ(Exp(0.0f), 1.0f); }

TEST(ExpTest, SaturatesToZeroAndInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Exp(-88.0f), 0.0f);
  EXPECT_EQ(Exp(-kInfinity), 0.0f);
  EXPECT_EQ(Exp(89.0f), kInfinity);
  EXPECT_EQ(Exp(kInfinity), kInfinity);
  EXPECT_TRUE(std::isfinite(Exp(kExpHigh)));
  EXPECT_GE(Exp(kExpLow), std::numeric_limits<float>::min());
}

TEST(ExpTest, KeepsNotANumber) {
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace rekindle::ops::host
