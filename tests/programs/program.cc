// SPDX-License-Identifier: Apache-2.0
#include "tests/programs/program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rekindle/base/status_macros.h"

namespace rekindle::programs {
namespace {

constexpr std::array<const char*, kActions> kNames = {
    "constant", "call",  "view",      "snapshot", "read",
    "write",    "evict", "guard",     "endguard", "release",
    "detach",   "step",  "setbudget", "endstream"};

// Visits all fields of an operation or of a program's settings by name.
template <typename Visitor, typename T>
void VisitOperation(Visitor& visit, T& operation) {
  visit("on", operation.operands);
  visit("out", operation.outputs);
  visit("salt", operation.salt);
  visit("mutates", operation.mutates);
  visit("effect", operation.effect);
  visit("draws", operation.draws);
  visit("pure", operation.pure);
  visit("keep", operation.keep);
  visit("workspace", operation.workspace);
  visit("cost", operation.cost);
  visit("stream", operation.stream);
  visit("amount", operation.amount);
}
template <typename Visitor, typename T>
void VisitSettings(Visitor& visit, T& program) {
  visit("seed", program.seed);
  visit("level", program.level);
  visit("device", program.device);
  visit("budget", program.budget);
  visit("policy", program.policy);
  visit("streams", program.streams);
  visit("small", program.small_block_limit);
  visit("lineage", program.max_lineage_calls);
  visit("verify", program.verify);
  visit("record", program.record_steps);
}

std::string Text(const std::string& value) { return value; }
std::string Text(const std::vector<uint32_t>& values) {
  return absl::StrJoin(values, ",");
}
template <typename T>
std::string Text(T value) {
  return absl::StrCat(static_cast<int64_t>(value));
}

bool Read(absl::string_view text, std::string& value) {
  value = std::string(text);
  return true;
}
template <typename T>
bool Read(absl::string_view text, T& value) {
  int64_t number = 0;
  const bool read = absl::SimpleAtoi(text, &number);
  value = static_cast<T>(number);
  return read;
}
bool Read(absl::string_view text, std::vector<uint32_t>& values) {
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    if (!Read(part, values.emplace_back())) return false;
  }
  return true;
}

// Appends the fields that differ from those of `defaults`, in the same order.
struct Writer {
  std::vector<std::string> defaults;
  std::string text;
  size_t next = 0;
  bool learning = true;

  template <typename T>
  void operator()(const char* name, const T& value) {
    if (learning) {
      defaults.push_back(Text(value));
    } else if (Text(value) != defaults[next++]) {
      absl::StrAppend(&text, " ", name, "=", Text(value));
    }
  }
};

struct Reader {
  absl::string_view name;
  absl::string_view value;
  bool found = false;

  template <typename T>
  void operator()(const char* field, T& to) {
    if (name == field) found = Read(value, to);
  }
};

// Fills the fields that the words "name=value" give, by `visit`.
template <typename Visit>
absl::Status ReadFields(absl::string_view line, Visit visit) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  for (size_t i = 1; i < words.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(words[i], absl::MaxSplits('=', 1));
    Reader reader{field.first, field.second};
    visit(reader);
    if (!reader.found) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", words[i], "\" in the line \"", line, "\""));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string ToString(const Operation& operation) {
  Writer writer;
  const Operation defaults;
  VisitOperation(writer, defaults);
  writer.learning = false;
  VisitOperation(writer, operation);
  return absl::StrCat(kNames[static_cast<size_t>(operation.action)],
                      writer.text);
}

std::string ToString(const Program& program) {
  Writer writer;
  const Program defaults;
  VisitSettings(writer, defaults);
  writer.learning = false;
  VisitSettings(writer, program);
  std::string text = absl::StrCat("program", writer.text, "\n");
  for (const Operation& operation : program.operations) {
    absl::StrAppend(&text, ToString(operation), "\n");
  }
  return text;
}

absl::StatusOr<Program> Parse(absl::string_view text) {
  Program program;
  bool settings = false;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    if (words[0] == "program") {
      settings = true;
      RK_RETURN_IF_ERROR(ReadFields(
          line, [&](Reader& reader) { VisitSettings(reader, program); }));
      continue;
    }
    const auto name = std::find(kNames.begin(), kNames.end(), words[0]);
    if (name == kNames.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no operation begins the line \"", line, "\""));
    }
    Operation operation;
    operation.action = static_cast<Action>(name - kNames.begin());
    RK_RETURN_IF_ERROR(ReadFields(
        line, [&](Reader& reader) { VisitOperation(reader, operation); }));
    program.operations.push_back(std::move(operation));
  }
  if (!settings) return absl::InvalidArgumentError("no line \"program ...\"");
  return program;
}

}  // namespace rekindle::programs
