// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tests/programs/program.h"

namespace rekindle::programs {

// A program that still fails, none of whose operations can be left out, and
// whose operations and settings are as plain as one at a time can become.
// Delta debugging: leaves out stretches of half the operations, then of a
// quarter, down to single ones, over and over. Asks `fails` at most
// `most_tries` times.
// REQUIRES: fails(program), and that it says the same every time.
Program Shrink(Program program,
               const std::function<bool(const Program&)>& fails,
               int most_tries = 2000);

}  // namespace rekindle::programs
