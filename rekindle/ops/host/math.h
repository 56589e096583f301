// SPDX-License-Identifier: Apache-2.0
// Elementary functions that compilers can turn into vector code: no branches,
// no calls, no tables.
#pragma once

#include <bit>
#include <cstdint>

#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {

// condition ? a : b, without a branch that the compiler could thread through
// the caller's code (a loop with branches stays scalar).
RK_HOST_INLINE float Select(bool condition, float a, float b) {
  const uint32_t mask = uint32_t{0} - static_cast<uint32_t>(condition);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(a) & mask) |
                              (std::bit_cast<uint32_t>(b) & ~mask));
}

// e^x within 1.5 units in the last place of the true value, for x between
// kExpLow and kExpHigh, where e^x is a normal number. Outside it is 0 (there
// are no subnormal results) and infinity; not-a-number stays.
// Source: range reduction to |r| <= ln(2) / 2 with a two-part ln(2) and the
// degree-5 minimax polynomial of the Cephes library (S. Moshier).
inline constexpr float kExpLow = -87.33654f;
inline constexpr float kExpHigh = 88.72283f;
RK_HOST_INLINE float Exp(float x) {
  constexpr float kRound = 0x1.8p23f;  // Adding it rounds to an integer.
  const bool low = x < kExpLow;
  const bool high = x > kExpHigh;
  float r = Select(low | high, 0.0f, x);
  const float shifted = r * 1.44269504f + kRound;
  const float n = shifted - kRound;
  r = r - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * (r * r) + r) + 1.0f;
  // 2^n as two factors, since 2^128 is not a float.
  const uint32_t exponent =
      std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRound) + 254;
  const uint32_t half = exponent >> 1;
  p *= std::bit_cast<float>(half << 23);
  p *= std::bit_cast<float>((exponent - half) << 23);
  return Select(low, 0.0f, Select(high, __builtin_inff(), p));
}

}  // namespace rekindle::ops::host
