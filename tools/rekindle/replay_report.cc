// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/replay_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rekindle/base/units.h"
#include "tools/rekindle/one_line.h"

namespace rekindle::tools {
namespace {

using Json = nlohmann::ordered_json;

// Of an empty trace nothing is wasted.
double Utilisation(const ReplayedTrace& replay) {
  const size_t physical = replay.result.peak_physical_bytes;
  if (physical == 0) return 1;
  return static_cast<double>(replay.trace->peak_live_bytes) /
         static_cast<double>(physical);
}

Json ToJson(const ReplayedTrace& replay) {
  const ReplayResult& result = replay.result;
  Json json;
  json["trace"] = replay.trace->name;
  json["peak_live_bytes"] = replay.trace->peak_live_bytes;
  json["peak_physical_bytes"] = result.peak_physical_bytes;
  json["utilisation"] = nullptr;
  json["vmm_calls"] = result.vmm_calls;
  json["ns_per_operation"] = nullptr;
  if (result.completed()) {
    json["utilisation"] = Utilisation(replay);
    json["ns_per_operation"] = result.ns_per_operation;
  }
  return json;
}

}  // namespace

std::string ReplayTable(const std::vector<ReplayedTrace>& replays) {
  size_t width = 5;
  for (const ReplayedTrace& replay : replays) {
    width = std::max(width, OneLine(replay.trace->name).size());
  }
  const int name = static_cast<int>(width);
  std::string text = absl::StrFormat(
      "%-*s  %12s %12s %12s %12s %9s  %s\n", name, "trace", "peak live",
      "budget", "physical", "utilisation", "ns/op", "VMM calls per pass");
  for (const ReplayedTrace& replay : replays) {
    const ReplayResult& result = replay.result;
    absl::StrAppendFormat(
        &text, "%-*s  %12s %12s %12s ", name, OneLine(replay.trace->name),
        FormatBytes(replay.trace->peak_live_bytes), FormatBytes(replay.budget),
        FormatBytes(result.peak_physical_bytes));
    if (result.completed()) {
      absl::StrAppendFormat(&text, "%12.4f %9.0f  %s\n", Utilisation(replay),
                            result.ns_per_operation,
                            absl::StrJoin(result.vmm_calls, ", "));
    } else {
      absl::StrAppendFormat(&text, "%12s\n", "did not fit");
    }
  }
  return text;
}

std::string ReplayJson(const std::vector<ReplayedTrace>& replays) {
  Json list = Json::array();
  for (const ReplayedTrace& replay : replays) list.push_back(ToJson(replay));
  // Paths may hold anything.
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rekindle::tools
