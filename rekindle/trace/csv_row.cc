// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/csv_row.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rekindle/trace/text_file.h"

namespace rekindle {

CsvHeader::CsvHeader(absl::string_view line) {
  for (const absl::string_view name : SplitCsv(line)) {
    names_.emplace_back(absl::StripAsciiWhitespace(name));
  }
}

absl::StatusOr<size_t> CsvHeader::Find(absl::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    return absl::NotFoundError(
        absl::StrCat("no column \"", name, "\" among ",
                     Quoted(names_.empty() ? "" : names_[0]),
                     names_.size() > 1 ? ", ..." : ""));
  }
  if (std::find(found + 1, names_.end(), name) != names_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", name, "\" is named twice"));
  }
  return static_cast<size_t>(found - names_.begin());
}

std::vector<absl::string_view> SplitCsv(absl::string_view line) {
  std::vector<absl::string_view> fields;
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] != ',' || quoted) continue;
    fields.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  fields.push_back(line.substr(begin));
  return fields;
}

absl::StatusOr<uint64_t> ParseWhole(absl::string_view name,
                                    absl::string_view text, uint64_t most) {
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      });
  uint64_t value = 0;
  if (digits && absl::SimpleAtoi(text, &value) && value <= most) return value;
  const absl::string_view what =
      digits ? " is too large" : " is not a whole number from 0 on";
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", Quoted(text), what));
}

}  // namespace rekindle
