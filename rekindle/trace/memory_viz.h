// SPDX-License-Identifier: Apache-2.0
// Memory snapshots for PyTorch's memory viewer.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rekindle/allocator/snapshot.h"
#include "rekindle/device/device.h"

namespace rekindle {

struct MemorySnapshot {
  std::vector<SegmentSnapshot> segments;
  // What the live blocks are for, by address; may lack some.
  absl::flat_hash_map<DeviceAddress, Frame> frames;
  std::vector<MemoryEvent> events;  // oldest first; may be empty
};

// The snapshot as a pickle, which https://pytorch.org/memory_viz draws. The
// timeline needs events. Source of the format: the documentation of
// torch.cuda.memory._snapshot.
std::string ToMemoryViz(const MemorySnapshot& snapshot);

}  // namespace rekindle
