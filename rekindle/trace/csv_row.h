// SPDX-License-Identifier: Apache-2.0
// Rows of a table whose first line names the columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rekindle {

// The names in the first line. Thread-compatible.
class CsvHeader {
 public:
  explicit CsvHeader(absl::string_view line);

  size_t columns() const { return names_.size(); }

  // Where a column stands. Errors: NotFound; InvalidArgument if its name is
  // there twice.
  absl::StatusOr<size_t> Find(absl::string_view name) const;

 private:
  std::vector<std::string> names_;
};

// Splits a line at its commas; a field with commas stands in double quotes.
std::vector<absl::string_view> SplitCsv(absl::string_view line);

// A whole number from 0 to `most`. `name` is for the message.
// Errors: InvalidArgument.
absl::StatusOr<uint64_t> ParseWhole(absl::string_view name,
                                    absl::string_view text, uint64_t most);

}  // namespace rekindle
