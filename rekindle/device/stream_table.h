// SPDX-License-Identifier: Apache-2.0
// The streams and events of a device whose work is done when a verb returns.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "rekindle/device/device.h"

namespace rekindle {

// Knows which handles are alive; a handle is never used again. Errors:
// InvalidArgument for one that is not. Thread-compatible.
class StreamTable {
 public:
  Stream CreateStream();
  absl::Status DestroyStream(Stream stream);
  absl::Status CheckStream(Stream stream) const;

  Event CreateEvent();
  absl::Status DestroyEvent(Event event);
  absl::Status CheckEvent(Event event) const;

 private:
  uintptr_t next_handle_ = 1;
  absl::flat_hash_set<uintptr_t> streams_;
  absl::flat_hash_set<uintptr_t> events_;
};

}  // namespace rekindle
