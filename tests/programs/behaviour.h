// SPDX-License-Identifier: Apache-2.0
// What a random call does, for kernels and for the model alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rekindle/base/philox.h"

namespace rekindle::programs {

using Words = std::vector<uint32_t>;

// Words that look random.
Words RandomWords(uint32_t salt, size_t count);

// A hash of all words that the call reads, and of a random number if it draws
// one, decides what all outputs and updates become.
struct Behaviour {
  uint32_t salt = 0;
  bool draws = false;
  std::vector<size_t> input_words;
  std::vector<size_t> output_words;
  std::vector<bool> read;     // one an input
  std::vector<bool> changed;  // one an input

  // One pointer an input and an output; some inputs may be the same memory.
  void Apply(const std::vector<uint32_t*>& inputs,
             const std::vector<uint32_t*>& outputs, PhiloxDraw draw) const;
};

}  // namespace rekindle::programs
