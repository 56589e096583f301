// SPDX-License-Identifier: Apache-2.0
#include "rekindle/base/log.h"

#include <string>

#include "gtest/gtest.h"

namespace rekindle {
namespace {

// What a log of this level writes.
std::string Written(LogLevel level) {
  ::testing::internal::CaptureStderr();
  const Log log(level);
  log.Warning("low");
  log.Info("evicted");
  return ::testing::internal::GetCapturedStderr();
}

TEST(LogTest, QuietWritesNothing) { EXPECT_EQ(Written(LogLevel::kQuiet), ""); }

TEST(LogTest, WarningsOnly) {
  EXPECT_EQ(Written(LogLevel::kWarnings), "rekindle: warning: low\n");
}

TEST(LogTest, DecisionsToo) {
  EXPECT_EQ(Written(LogLevel::kDecisions),
            "rekindle: warning: low\nrekindle: evicted\n");
}

}  // namespace
}  // namespace rekindle
