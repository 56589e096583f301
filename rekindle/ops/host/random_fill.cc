// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/random_fill.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace rekindle::ops::host {
namespace {

constexpr int64_t kOperations = 256;  // Of a block, against a plain copy.

// y = of(block of words), four numbers at a time.
template <typename Of>
void FillBlocks(HostThreads threads, int64_t count, PhiloxDraw draw,
                const Of& of, float* y) {
  ParallelFor(
      threads, (count + 3) / 4, kOperations, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
          const std::array<float, 4> numbers =
              of(PhiloxBlock(draw, static_cast<uint64_t>(block)));
          std::copy_n(numbers.begin(), std::min<int64_t>(4, count - 4 * block),
                      y + 4 * block);
        }
      });
}

// Two standard normal numbers from two words.
std::array<double, 2> BoxMuller(uint32_t a, uint32_t b) {
  const double radius = std::sqrt(-2.0 * std::log((a + 1.0) * 0x1p-32));
  const double angle = 2.0 * std::numbers::pi * (b * 0x1p-32);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace

void FillUniform(HostThreads threads, int64_t count, PhiloxDraw draw, float low,
                 float high, float* y) {
  FillBlocks(
      threads, count, draw,
      [=](const std::array<uint32_t, 4>& words) {
        std::array<float, 4> numbers;
        for (int i = 0; i < 4; ++i) {
          // Rounding may reach `high`, which is not in the range.
          const float number = low + (high - low) * PhiloxUniform(words[i]);
          numbers[i] = number < high ? number : std::nextafter(high, low);
        }
        return numbers;
      },
      y);
}

void FillNormal(HostThreads threads, int64_t count, PhiloxDraw draw, float mean,
                float deviation, float* y) {
  FillBlocks(
      threads, count, draw,
      [=](const std::array<uint32_t, 4>& words) {
        const std::array<double, 2> a = BoxMuller(words[0], words[1]);
        const std::array<double, 2> b = BoxMuller(words[2], words[3]);
        const auto scaled = [=](double z) {
          return static_cast<float>(mean + deviation * z);
        };
        return std::array<float, 4>{scaled(a[0]), scaled(a[1]), scaled(b[0]),
                                    scaled(b[1])};
      },
      y);
}

}  // namespace rekindle::ops::host
