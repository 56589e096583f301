// SPDX-License-Identifier: Apache-2.0
// What a program asked of its allocator, in order.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rekindle {

// Every block of a trace has a number of its own, from 0 on in the order in
// which they are allocated; none is allocated twice, or freed before.
struct AllocationTrace {
  struct Operation {
    bool allocates = false;  // else frees
    size_t block = 0;
  };

  std::string name;  // the path it was read from
  std::vector<Operation> operations;
  std::vector<size_t> block_bytes;
  size_t peak_live_bytes = 0;  // of requested sizes, without any rounding
};

// No trace with more live bytes than this is taken for one: 16 TiB.
inline constexpr size_t kMostTraceBytes = size_t{1} << 44;

// Reads a CSV, plain or gzip. The first line names the columns, in any order;
// those that are not listed here are ignored.
//   op    A: allocates. R: asks to free; the bytes may still be in use. F:
//   frees.
//         S, s: what another allocator asked of the driver, ignored.
//   id    Whole number that names a block; may be used again once it is free.
//   size  Bytes. Only that of an A counts.
//   t_us  May be missing. -1: alive before the trace began, comes first.
// Errors: NotFound or InvalidArgument, "path:line: reason".
absl::StatusOr<AllocationTrace> ReadAllocationTrace(const std::string& path);

// The same from the text itself; `name` stands for the path.
absl::StatusOr<AllocationTrace> ParseAllocationTrace(absl::string_view name,
                                                     absl::string_view text);

}  // namespace rekindle
