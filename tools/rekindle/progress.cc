// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/progress.h"

#include <unistd.h>

#include <cstdio>

namespace rekindle::tools {

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { Clear(); }

void Progress::Show(const std::string& line) {
  if (terminal_) std::fprintf(stderr, "\r\033[K%s", line.c_str());
}

void Progress::Clear() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

}  // namespace rekindle::tools
