// SPDX-License-Identifier: Apache-2.0
// Lines for people, on stderr.
#pragma once

#include "absl/strings/string_view.h"

namespace rekindle {

enum class LogLevel { kQuiet = 0, kWarnings = 1, kDecisions = 2 };

// Thread-safe: each message is one write. A message ends without a newline.
class Log {
 public:
  explicit Log(LogLevel level = LogLevel::kWarnings) : level_(level) {}

  // "rekindle: warning: ..." unless quiet.
  void Warning(absl::string_view message) const;
  // "rekindle: ..." at kDecisions.
  void Info(absl::string_view message) const;

 private:
  LogLevel level_;
};

}  // namespace rekindle
