// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace rekindle {

struct SystemMemory {
  size_t total = 0;      // of the machine, or what a container may take of it
  size_t available = 0;  // without pushing anything out; at most `total`
};

// What the system says now: /proc/meminfo, and the limit of the process's own
// control group (version 2 or 1), which is how containers are limited. `root`
// is the folder below which these files are. 0 for what cannot be read.
SystemMemory ReadSystemMemory(const std::string& root = "");

}  // namespace rekindle
