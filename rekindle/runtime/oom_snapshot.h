// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/engine/engine.h"
#include "rekindle/engine/types.h"

namespace rekindle::internal {

// Who holds what when a request does not fit.
struct OomSnapshot {
  std::string message;
  int64_t step = 0;
  std::vector<StorageInfo> storages;
  EngineStats engine;
  AllocatorStats allocator;
};

// One JSON document: {"message", "step", "budget_bytes", "physical_bytes",
// "storages": [{"name", "file", "line", "kind", "bytes", "resident",
// "constant", "references", "pins"}], "stats": {...}}.
std::string ToJson(const OomSnapshot& snapshot);

// Writes it to rekindle-oom-PID.json in `directory`, over an older one, and
// gives the path. Errors: Unavailable, with the path and the system's reason.
absl::StatusOr<std::string> WriteOomSnapshot(const std::string& directory,
                                             const OomSnapshot& snapshot);

}  // namespace rekindle::internal
