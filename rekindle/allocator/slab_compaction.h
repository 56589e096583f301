// SPDX-License-Identifier: Apache-2.0
// Which slab pages to empty: a pure function of how they are used.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "rekindle/device/device.h"

namespace rekindle {

// A page that has blocks.
struct PageUse {
  DeviceAddress address = 0;
  size_t size_class = 0;
  size_t slots = 0;
  size_t live = 0;  // slots with a block
  // The chunk that it lies in, if nothing but pages lies there; else 0.
  DeviceAddress chunk = 0;
};

// The addresses of the pages to empty, in the order to do it. The blocks of
// them all fit into free slots of the other pages of their classes; each page
// is `movable`. They are, until they have `bytes` together:
//   1. if one page of `page_bytes` is less than `bytes`: all pages of a chunk,
//      those chunks first that have the fewest blocks;
//   2. single pages, those with the fewest blocks first.
// Of equals, the one at the highest address goes first. `movable` is asked only
// of pages that would be chosen. Cost: O(n log n).
std::vector<DeviceAddress> PagesToEmpty(
    absl::Span<const PageUse> pages, size_t page_bytes, size_t bytes,
    absl::FunctionRef<bool(DeviceAddress)> movable);

}  // namespace rekindle
