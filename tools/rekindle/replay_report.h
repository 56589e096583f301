// SPDX-License-Identifier: Apache-2.0
// What `rekindle replay` prints.
#pragma once

#include <string>
#include <vector>

#include "rekindle/trace/allocation_trace.h"
#include "tools/rekindle/allocation_replay.h"

namespace rekindle::tools {

struct ReplayedTrace {
  const AllocationTrace* trace = nullptr;
  size_t budget = 0;
  ReplayResult result;
};

// A table for people.
std::string ReplayTable(const std::vector<ReplayedTrace>& replays);

// One JSON document. Of a trace that did not complete, utilisation and
// ns_per_operation are null and vmm_calls has the passes before.
std::string ReplayJson(const std::vector<ReplayedTrace>& replays);

}  // namespace rekindle::tools
