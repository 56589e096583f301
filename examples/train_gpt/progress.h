// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace train_gpt {

// Tells how training goes: on a terminal one line that changes with each step,
// on stderr, and ten or fewer that stay; elsewhere a plain line on stdout every
// `every` steps.
class Progress {
 public:
  // `what` starts each line; may be empty.
  Progress(std::string what, int steps, int tokens_per_step, int every);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After step number `step` (from 1 on), which took `seconds`.
  void Show(int step, float loss, double seconds);

 private:
  const std::string what_;
  const int steps_;
  const int tokens_per_step_;
  const bool terminal_;
  const int every_;
};

}  // namespace train_gpt
