// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_check/report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace rekindle {
namespace {

using Outcome = Finding::Outcome;

const char* Name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kFailed:
      return "FAILED";
    case Outcome::kSkipped:
      return "skipped";
  }
  return "";
}

}  // namespace

void Report::Add(Finding finding) {
  std::fprintf(out_, "%-12s %-34s %-8s %s\n", finding.section.c_str(),
               finding.name.c_str(), Name(finding.outcome),
               finding.detail.c_str());
  std::fflush(out_);
  findings_.push_back(std::move(finding));
}

bool Report::ok() const {
  return Count(Outcome::kFailed) == 0 && Count(Outcome::kOk) > 0;
}

std::string Report::Summary() const {
  return absl::StrCat(Count(Outcome::kOk), " ok, ", Count(Outcome::kFailed),
                      " failed, ", Count(Outcome::kSkipped), " skipped");
}

nlohmann::ordered_json Report::ToJson() const {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Finding& finding : findings_) {
    rows.push_back({{"section", finding.section},
                    {"name", finding.name},
                    {"outcome", Name(finding.outcome)},
                    {"detail", finding.detail},
                    {"figures", finding.figures}});
  }
  return {{"ok", ok()}, {"findings", std::move(rows)}};
}

size_t Report::Count(Outcome outcome) const {
  return static_cast<size_t>(std::count_if(
      findings_.begin(), findings_.end(),
      [outcome](const Finding& f) { return f.outcome == outcome; }));
}

}  // namespace rekindle
