// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/behaviour.h"

namespace rekindle::programs {
namespace {

uint32_t Mix(uint32_t state, uint32_t word) {
  state = (state ^ word) * 0x9E3779B1u;
  return state ^ (state >> 15);
}

void Expand(uint32_t seed, uint32_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    words[i] = Mix(seed, static_cast<uint32_t>(i));
  }
}

}  // namespace

Words RandomWords(uint32_t salt, size_t count) {
  Words words(count);
  Expand(salt, words.data(), count);
  return words;
}

void Behaviour::Apply(const std::vector<uint32_t*>& inputs,
                      const std::vector<uint32_t*>& outputs,
                      PhiloxDraw draw) const {
  uint32_t seed = salt;
  if (draws) seed = Mix(seed, PhiloxBlock(draw, 0)[0]);
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0; read[i] && j < input_words[i]; ++j) {
      seed = Mix(seed, inputs[i][j]);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Expand(Mix(seed, static_cast<uint32_t>(i)), outputs[i], output_words[i]);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0; changed[i] && j < input_words[i]; ++j) {
      inputs[i][j] = Mix(inputs[i][j], seed);
    }
  }
}

}  // namespace rekindle::programs
