// SPDX-License-Identifier: Apache-2.0
#include "rekindle/base/log.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

namespace rekindle {
namespace {

void Write(absl::string_view prefix, absl::string_view message) {
  const std::string line = absl::StrCat("rekindle: ", prefix, message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void Log::Warning(absl::string_view message) const {
  if (level_ >= LogLevel::kWarnings) Write("warning: ", message);
}

void Log::Info(absl::string_view message) const {
  if (level_ >= LogLevel::kDecisions) Write("", message);
}

}  // namespace rekindle
