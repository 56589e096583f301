// SPDX-License-Identifier: Apache-2.0
// The pins that the program holds. Internal to engine/.
#pragma once

#include <cstdint>
#include <map>

#include "rekindle/base/ids.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/types.h"

namespace rekindle {

// Thread-compatible. Each operation but OldestLabel: O(log n).
class ProgramPins {
 public:
  struct Pin {
    Label by;
    Stream stream;
    bool writes = false;
    int64_t order = 0;
  };

  void Add(StorageId storage, const Label& by, Stream stream);
  // Says that the latest pin of the storage is for writing.
  void SetWrites(StorageId storage);
  // Removes one. REQUIRES: there is one of that storage for that stream.
  Pin Remove(StorageId storage, Stream stream);
  // An empty one if there is no pin. O(n).
  Label OldestLabel() const;

 private:
  std::multimap<StorageId, Pin> pins_;  // of one storage: oldest first
  int64_t order_ = 0;
};

}  // namespace rekindle
