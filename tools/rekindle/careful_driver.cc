// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/careful_driver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace rekindle::tools {
namespace {

// What becomes of a process that opens the library; empty if nothing bad.
std::string DeathOf(const cuda::DriverSource& library) {
  const pid_t child = fork();
  if (child < 0) return "";  // then it has to be tried here
  if (child == 0) {
    std::string ignored;
    library.open(&ignored);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return "";
  }
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return status == 0 ? "" : absl::StrCat("exit status ", WEXITSTATUS(status));
}

}  // namespace

cuda::DriverSource CarefulDriverLibrary(std::string file) {
  cuda::DriverSource careful;
  careful.open = [file = std::move(file)](
                     std::string* reason) -> cuda::DriverSource::Symbols {
    const cuda::DriverSource library = cuda::DriverLibrary(file);
    const std::string death = DeathOf(library);
    if (death.empty()) return library.open(reason);
    *reason = absl::StrCat(file, " kills the program that opens it (", death,
                           "): the file is damaged");
    return nullptr;
  };
  return careful;
}

}  // namespace rekindle::tools
