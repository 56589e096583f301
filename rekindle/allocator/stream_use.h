// SPDX-License-Identifier: Apache-2.0
// Who may still be using free bytes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rekindle {

// The streams with work that may touch some bytes, and the latest time that
// such work was queued at; both in the terms of one StreamOrder.
struct StreamUse {
  uint64_t streams = 0;  // a bit each
  uint64_t time = 0;

  bool none() const { return streams == 0; }

  void Add(const StreamUse& other) {
    streams |= other.streams;
    time = std::max(time, other.time);
  }
};

}  // namespace rekindle
