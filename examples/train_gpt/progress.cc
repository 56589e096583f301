// SPDX-License-Identifier: Apache-2.0
#include "examples/train_gpt/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_format.h"

namespace train_gpt {

Progress::Progress(std::string what, int steps, int tokens_per_step, int every)
    : what_(std::move(what)),
      steps_(steps),
      tokens_per_step_(tokens_per_step),
      terminal_(isatty(STDERR_FILENO) == 1),
      every_(terminal_ ? std::max(every, (steps + 9) / 10) : every) {}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\033[K", stderr);  // Clears the line.
}

void Progress::Show(int step, float loss, double seconds) {
  const bool keep = step % every_ == 0 || step == steps_;
  if (!keep && !terminal_) return;
  const std::string line =
      absl::StrFormat("%sstep %d/%d  loss %.4f  %.0f tokens/s", what_, step,
                      steps_, loss, tokens_per_step_ / seconds);
  if (terminal_) std::fprintf(stderr, "\r\033[K%s", line.c_str());
  if (!keep) return;
  if (terminal_) std::fputs("\r\033[K", stderr);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace train_gpt
