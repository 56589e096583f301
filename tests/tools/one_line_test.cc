// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/one_line.h"

#include "gtest/gtest.h"

namespace rekindle::tools {
namespace {

TEST(OneLineTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(OneLine("a\nb\r\t\x1b[31m\x7f"), "a\\nb\\r\\t\\x1b[31m\\x7f");
}

TEST(OneLineTest, AllElseStays) {
  const std::string text = "C:\\path \"x\" \xc3\xa4 \xff";
  EXPECT_EQ(OneLine(text), text);
}

}  // namespace
}  // namespace rekindle::tools
