// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tests/programs/program.h"

namespace rekindle::programs {

// A random program of so many operations. The same seed, level and device give
// the same program. It has no limit yet: see RandomBudget.
Program MakeProgram(uint32_t seed, Level level, DeviceKind device,
                    int operations = 60);

// A budget, in bytes, under which most such programs must recompute.
size_t RandomBudget(uint32_t seed);

}  // namespace rekindle::programs
