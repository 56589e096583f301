// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace rekindle {

struct ConformanceResult {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  std::vector<std::string> messages;  // of failures and, once each, of skips
};

// Runs the linked tests whose names match `filter`, as GoogleTest reads it.
// Once in a process.
ConformanceResult RunConformance(const std::string& filter);

}  // namespace rekindle
