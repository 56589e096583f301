// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/child_process.h"

#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"

namespace rekindle::programs {
namespace {

std::string ReadAll(int file) {
  std::string text;
  char buffer[4096];
  off_t offset = 0;
  while (true) {
    const ssize_t count = pread(file, buffer, sizeof(buffer), offset);
    if (count <= 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    offset += count;
  }
}

[[noreturn]] void BeChild(const std::function<bool()>& work, unsigned seconds,
                          int output) {
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // nothing is lost in a crash
  // The default: whoever handles crashes otherwise only takes time.
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGALRM}) {
    std::signal(signal, SIG_DFL);
  }
  alarm(seconds);
  const bool right = work();
  // In order, so that sanitizers and coverage have their say.
  std::exit(right ? 0 : 1);
}

}  // namespace

bool RunInChild(const std::function<bool()>& work, unsigned seconds,
                std::string* output) {
  const int file = memfd_create("output", 0);
  RK_CHECK(file >= 0, "no memfd");
  std::fflush(nullptr);
  const pid_t child = fork();
  RK_CHECK(child >= 0, "no fork");
  if (child == 0) BeChild(work, seconds, file);
  int status = 0;
  RK_CHECK(waitpid(child, &status, 0) == child, "lost the child");
  if (output != nullptr) {
    *output = ReadAll(file);
    if (WIFSIGNALED(status)) {
      absl::StrAppend(output, "ended by signal ", WTERMSIG(status),
                      WTERMSIG(status) == SIGALRM ? ": took too long\n" : "\n");
    }
  }
  close(file);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace rekindle::programs
