// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rekindle {

// A place in the program's source, for reports. Functions that take one
// default it to Site::Current(), which is the place of the call. (Not
// std::source_location: clang 14 cannot read libstdc++'s.)
struct Site {
  const char* file = "";
  int line = 0;

  static constexpr Site Current(const char* file = __builtin_FILE(),
                                int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace rekindle
