// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace train_gpt {

// What the command line says. The defaults are those of the demo: at them the
// constants are more than 15% of the peak, and the model learns to spell.
struct Flags {
  std::string text = "/usr/share/common-licenses/GPL-3";
  int steps = 600;
  int batch = 10;
  int context = 64;
  int layers = 6;
  int width = 64;
  int heads = 2;
  float dropout = 0.02f;
  float learning_rate = 4e-3f;
  uint64_t seed = 1;
  int threads = 0;  // 0: as many as OpenMP would use.
  int sample = 300;
  bool demo = false;
};

// Reads the command line. No value: the program ends now with `exit_status`,
// everything has been said (help, or one line about what is wrong).
std::optional<Flags> ParseFlags(int argc, char** argv, int& exit_status);

}  // namespace train_gpt
