// SPDX-License-Identifier: Apache-2.0
#include "rekindle/base/philox.h"

#include <gtest/gtest.h>

namespace rekindle {
namespace {

using Words = std::array<uint32_t, 4>;

// The vectors of the Random123 library for philox4x32-10.
TEST(PhiloxTest, GivesTheKnownAnswers) {
  constexpr uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, PutsTheBlockLowAndTheDrawHighInTheCounter) {
  EXPECT_EQ(PhiloxBlock({.key = 0x299f31d0a4093822, .draw = 0x0370734413198a2e},
                        0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, UniformCoversZeroToJustBelowOne) {
  EXPECT_EQ(PhiloxUniform(0), 0.0f);
  EXPECT_EQ(PhiloxUniform(0xffffffff), 1.0f - 0x1p-24f);
  EXPECT_EQ(PhiloxUniform(0x80000000), 0.5f);
}

TEST(PhiloxTest, CanRunInTheCompiler) {
  static_assert(Philox4x32({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
}

}  // namespace
}  // namespace rekindle
