// SPDX-License-Identifier: Apache-2.0
// Where a new block should go.
#pragma once

#include <cstddef>
#include <optional>

#include "rekindle/allocator/address_map.h"

namespace rekindle {

// A free stretch of addresses for one block. `first` is the free range it
// starts in; it may reach over several.
struct Placement {
  Range* first = nullptr;
  DeviceAddress address = 0;
  // Chunks it touches that have no memory yet: what it costs in device calls.
  size_t unmapped_chunks = 0;
  // Chunks it touches that no live block touched: what it costs in memory.
  size_t new_chunks = 0;
};

// Every placement these functions propose begins where a live block or a chunk
// begins or ends, on that side, so that new_chunks <= ceil(bytes / chunk): a
// block never needs more memory than one on fresh chunks would. That makes
// Allocator::WorstCaseBytes a true bound.

// The best fit that needs no device call: in memory that is mapped.
std::optional<Placement> FindMapped(const AddressMap& map, size_t bytes);

// The placement with the fewest unmapped chunks, then the fewest new ones,
// among the likely ones, that takes at most `max_new_chunks`. If none of them
// will do, any one that will. nullopt: there is none.
// Cost: O(log n), or O(n) if the likely ones will not do.
std::optional<Placement> FindAny(const AddressMap& map, size_t bytes,
                                 size_t max_new_chunks);

}  // namespace rekindle
