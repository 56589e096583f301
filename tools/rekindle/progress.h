// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace rekindle::tools {

// One line on stderr that says what is being done, gone when this ends. Only
// on a terminal: never in a pipe or a file.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(const std::string& line);
  void Clear();

 private:
  const bool terminal_;
};

}  // namespace rekindle::tools
