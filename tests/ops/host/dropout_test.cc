// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/dropout.h"

#include <gtest/gtest.h>

#include <limits>

#include "rekindle/ops/host/random_fill.h"
#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::Floats;

constexpr PhiloxDraw kDraw{.key = 0x123456789abcdef0, .draw = 42};

TEST(DropoutTest, DropsByTheWordsOfTheDraw) {
  for (int64_t count : {1, 5, 63, 64, 65, 1000, 100003}) {
    const Floats x = reference::Random(count, 1);
    const Floats y = reference::SameForAnyThreads([&](HostThreads threads) {
      Floats out = x;
      Dropout(threads, count, 0.25f, kDraw, out.data(), out.data());
      return out;
    });
    for (size_t i = 0; i < y.size(); ++i) {
      const uint32_t word = PhiloxBlock(kDraw, i / 4)[i % 4];
      ASSERT_EQ(y[i], word < (1u << 30) ? 0.0f : x[i] * (1.0f / 0.75f));
    }
  }
}

TEST(DropoutTest, DropsAboutItsRate) {
  constexpr int64_t kCount = 1000000;
  const Floats ones(kCount, 1.0f);
  Floats y(kCount);
  for (float rate : {0.0f, 0.1f, 0.5f, 0.9f}) {
    Dropout({2}, kCount, rate, kDraw, ones.data(), y.data());
    const double dropped =
        static_cast<double>(std::count(y.begin(), y.end(), 0.0f)) / kCount;
    EXPECT_NEAR(dropped, rate, 0.002);
  }
}

TEST(DropoutTest, AnotherDrawDropsOthers) {
  const Floats x(1000, 1.0f);
  Floats a(1000), b(1000);
  Dropout({1}, 1000, 0.5f, {.key = 1, .draw = 1}, x.data(), a.data());
  Dropout({1}, 1000, 0.5f, {.key = 1, .draw = 2}, x.data(), b.data());
  EXPECT_FALSE(reference::SameBits(a, b));
}

TEST(DropoutTest, MaskAndDrawAgree) {
  for (int64_t count : {1, 67, 100003}) {
    const Floats x = reference::Random(count, 1);
    const Floats dy = reference::Random(count, 2);
    for (int threads : {1, 2, 3}) {
      Floats y(x.size()), masked(y), dx(y), dx_masked(y);
      std::vector<uint8_t> mask(x.size(), 7);
      Dropout({threads}, count, 0.3f, kDraw, x.data(), y.data());
      DropoutWithMask({threads}, count, 0.3f, kDraw, x.data(), masked.data(),
                      mask.data());
      EXPECT_TRUE(reference::SameBits(y, masked));
      Dropout({threads}, count, 0.3f, kDraw, dy.data(), dx.data());
      DropoutMaskBackward({threads}, count, 0.3f, dy.data(), mask.data(),
                          dx_masked.data());
      EXPECT_TRUE(reference::SameBits(dx, dx_masked));
    }
  }
}

TEST(DropoutTest, DropsInfinitiesToo) {
  const Floats x(64, std::numeric_limits<float>::infinity());
  Floats y(64);
  Dropout({1}, 64, 0.5f, kDraw, x.data(), y.data());
  EXPECT_GT(std::count(y.begin(), y.end(), 0.0f), 0);
}

TEST(DropoutDeathTest, RefusesARateOfOne) {
  float x = 0.0f;
  EXPECT_DEATH(Dropout({1}, 1, 1.0f, kDraw, &x, &x), "dropout rate");
}

TEST(RandomFillTest, UniformStaysInItsRange) {
  const Floats y = reference::SameForAnyThreads([&](HostThreads threads) {
    Floats out(100003);
    FillUniform(threads, 100003, kDraw, -2.0f, 3.0f, out.data());
    return out;
  });
  double sum = 0.0;
  for (float value : y) {
    ASSERT_GE(value, -2.0f);
    ASSERT_LT(value, 3.0f);
    sum += value;
  }
  EXPECT_NEAR(sum / 100003, 0.5, 0.02);
}

TEST(RandomFillTest, NormalHasItsMoments) {
  const Floats y = reference::SameForAnyThreads([&](HostThreads threads) {
    Floats out(100003);
    FillNormal(threads, 100003, kDraw, 1.0f, 2.0f, out.data());
    return out;
  });
  double sum = 0.0, squares = 0.0, inside = 0.0;
  for (float value : y) {
    const double z = (value - 1.0) / 2.0;
    sum += z;
    squares += z * z;
    inside += std::abs(z) < 1.0 ? 1.0 : 0.0;
  }
  EXPECT_NEAR(sum / 100003, 0.0, 0.02);
  EXPECT_NEAR(squares / 100003, 1.0, 0.02);
  EXPECT_NEAR(inside / 100003, 0.6827, 0.01);
}

}  // namespace
}  // namespace rekindle::ops::host
