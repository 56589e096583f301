// SPDX-License-Identifier: Apache-2.0
#include "rekindle/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace rekindle::internal {

void CheckFailed(const char* file, int line, const char* condition,
                 const char* detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition,
               detail);
  std::abort();
}

}  // namespace rekindle::internal
