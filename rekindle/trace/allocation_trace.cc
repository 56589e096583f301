// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/allocation_trace.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/trace/csv_row.h"
#include "rekindle/trace/text_file.h"

namespace rekindle {
namespace {

struct Columns {
  size_t count = 0;
  size_t op = 0;
  size_t id = 0;
  size_t size = 0;
  std::optional<size_t> time;
};

absl::StatusOr<Columns> FindColumns(absl::string_view line) {
  absl::ConsumePrefix(&line, "\xef\xbb\xbf");  // a byte order mark
  if (line.empty()) return absl::InvalidArgumentError("no columns are named");
  const CsvHeader header(line);
  Columns columns;
  columns.count = header.columns();
  RK_ASSIGN_OR_RETURN(columns.op, header.Find("op"));
  RK_ASSIGN_OR_RETURN(columns.id, header.Find("id"));
  RK_ASSIGN_OR_RETURN(columns.size, header.Find("size"));
  const auto time = header.Find("t_us");
  if (time.ok()) {
    columns.time = *time;
  } else if (!absl::IsNotFound(time.status())) {
    return time.status();
  }
  return columns;
}

struct Row {
  size_t line = 0;
  char op = 0;
  bool before = false;  // the trace began
  uint64_t id = 0;
  size_t bytes = 0;
};

absl::StatusOr<Row> ParseRow(const Columns& columns, absl::string_view line) {
  const std::vector<absl::string_view> fields = SplitCsv(line);
  if (fields.size() != columns.count) {
    return absl::InvalidArgumentError(absl::StrCat(
        fields.size(), " fields where ", columns.count, " columns are named"));
  }
  Row row;
  const absl::string_view op = fields[columns.op];
  if (op.size() != 1 || !absl::StrContains("ARFSs", op)) {
    return absl::InvalidArgumentError(
        absl::StrCat("op ", Quoted(op), " is none of A, R, F, S, s"));
  }
  row.op = op[0];
  if (row.op == 'S' || row.op == 's') return row;
  RK_ASSIGN_OR_RETURN(row.id, ParseWhole("id", fields[columns.id],
                                         std::numeric_limits<uint64_t>::max()));
  const absl::string_view size = fields[columns.size];
  if (row.op == 'A' || !size.empty()) {
    RK_ASSIGN_OR_RETURN(row.bytes, ParseWhole("size", size, kMostTraceBytes));
  }
  if (!columns.time.has_value()) return row;
  const absl::string_view time = fields[*columns.time];
  double microseconds = 0;
  if (!time.empty() && !absl::SimpleAtod(time, &microseconds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("t_us ", Quoted(time), " is not a number"));
  }
  row.before = microseconds == -1;
  return row;
}

// Builds a trace from rows in the order in which they happened.
class Builder {
 public:
  explicit Builder(absl::string_view name) { trace_.name = std::string(name); }

  absl::Status Add(const Row& row) {
    if (row.op == 'A') return Allocate(row);
    const auto found = live_.find(row.id);
    if (found == live_.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "block ", row.id, row.op == 'F' ? " is freed" : " is to be freed",
          " but not alive"));
    }
    if (row.op == 'R') return absl::OkStatus();
    live_bytes_ -= trace_.block_bytes[found->second];
    trace_.operations.push_back({false, found->second});
    live_.erase(found);
    return absl::OkStatus();
  }

  AllocationTrace Finish() && { return std::move(trace_); }

 private:
  absl::Status Allocate(const Row& row) {
    const size_t block = trace_.block_bytes.size();
    if (!live_.emplace(row.id, block).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("block ", row.id, " is allocated while it is alive"));
    }
    live_bytes_ += row.bytes;
    if (live_bytes_ > kMostTraceBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "size ", row.bytes, ": more than 16 TiB would be alive"));
    }
    trace_.peak_live_bytes = std::max(trace_.peak_live_bytes, live_bytes_);
    trace_.block_bytes.push_back(row.bytes);
    trace_.operations.push_back({true, block});
    return absl::OkStatus();
  }

  AllocationTrace trace_;
  absl::flat_hash_map<uint64_t, size_t> live_;
  size_t live_bytes_ = 0;
};

// Takes the first line off `text`.
absl::string_view TakeLine(absl::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  absl::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

absl::Status At(absl::string_view name, size_t line,
                const absl::Status& status) {
  return absl::InvalidArgumentError(FileError(name, line, status.message()));
}

}  // namespace

absl::StatusOr<AllocationTrace> ParseAllocationTrace(absl::string_view name,
                                                     absl::string_view text) {
  if (text.empty()) {
    return absl::InvalidArgumentError(FileError(name, 1, "the file is empty"));
  }
  const absl::StatusOr<Columns> columns = FindColumns(TakeLine(text));
  if (!columns.ok()) return At(name, 1, columns.status());
  std::vector<Row> rows;
  for (size_t line = 2; !text.empty(); ++line) {
    const absl::string_view content = TakeLine(text);
    if (content.empty()) continue;
    absl::StatusOr<Row> row = ParseRow(*columns, content);
    if (!row.ok()) return At(name, line, row.status());
    row->line = line;
    if (row->op != 'S' && row->op != 's') rows.push_back(*row);
  }
  std::stable_partition(rows.begin(), rows.end(),
                        [](const Row& row) { return row.before; });
  Builder builder(name);
  for (const Row& row : rows) {
    const absl::Status status = builder.Add(row);
    if (!status.ok()) return At(name, row.line, status);
  }
  return std::move(builder).Finish();
}

absl::StatusOr<AllocationTrace> ReadAllocationTrace(const std::string& path) {
  RK_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseAllocationTrace(path, text);
}

}  // namespace rekindle
