// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/policy_settings.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace rekindle {

absl::StatusOr<PolicySettings> PolicySettings::Parse(absl::string_view text) {
  PolicySettings settings;
  settings.text_ = std::string(text);
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  settings.name_ = parts.first;
  if (text.size() == parts.first.size()) return settings;
  for (absl::string_view item : absl::StrSplit(parts.second, ',')) {
    const std::pair<std::string, std::string> setting =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    if (setting.first.empty() || setting.second.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", item, "\" is not KEY=VALUE"));
    }
    if (!settings.values_.insert(setting).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", setting.first, "\" is set twice"));
    }
  }
  return settings;
}

const std::string* PolicySettings::Find(const std::string& key) const {
  asked_.insert(key);
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

absl::StatusOr<size_t> PolicySettings::Choose(
    const std::string& key, const std::vector<std::string>& accepted) const {
  const std::string* value = Find(key);
  if (value == nullptr) return accepted.size();
  const auto found = std::find(accepted.begin(), accepted.end(), *value);
  if (found != accepted.end()) {
    return static_cast<size_t>(found - accepted.begin());
  }
  return absl::InvalidArgumentError(absl::StrCat(
      key, "=", *value, " is none of ", absl::StrJoin(accepted, ", ")));
}

absl::StatusOr<double> PolicySettings::Number(const std::string& key,
                                              double otherwise) const {
  const std::string* text = Find(key);
  if (text == nullptr) return otherwise;
  double value = 0;
  if (absl::SimpleAtod(*text, &value) && std::isfinite(value) && value >= 0) {
    return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(key, "=", *text, " is not a number of at least 0"));
}

absl::Status PolicySettings::CheckAllUsed() const {
  for (const auto& [key, value] : values_) {
    if (asked_.count(key) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("\"", key, "\" is not a setting of it; accepted are ",
                     absl::StrJoin(asked_, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace rekindle
