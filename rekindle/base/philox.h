// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10, a counter-based random generator: the same key and counter
// give the same numbers on every thread, machine and device.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

namespace rekindle {

// What a call records to draw its numbers again: whose stream (`key`), and
// which draw of that stream (`draw`). Number i of a draw is word i % 4 of the
// block with counter {low 64 bits: i / 4, high 64 bits: draw}.
struct PhiloxDraw {
  uint64_t key = 0;
  uint64_t draw = 0;

  friend constexpr bool operator==(const PhiloxDraw&,
                                   const PhiloxDraw&) = default;
};

// The four words of one block; `counter[0]` and `key[0]` are the low words.
constexpr std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Numbers 4 * block to 4 * block + 3 of a draw.
constexpr std::array<uint32_t, 4> PhiloxBlock(PhiloxDraw draw, uint64_t block) {
  return Philox4x32(
      {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
       static_cast<uint32_t>(draw.draw),
       static_cast<uint32_t>(draw.draw >> 32)},
      {static_cast<uint32_t>(draw.key), static_cast<uint32_t>(draw.key >> 32)});
}

// The upper 24 bits of a word as a float in [0, 1).
constexpr float PhiloxUniform(uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

}  // namespace rekindle
