// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/policies.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/evictor/parametric_policy.h"
#include "rekindle/evictor/random_policy.h"

namespace rekindle {
namespace {

using Cost = ParametricPolicy::Cost;

// One line a policy of the parametric form: cost, size, staleness.
constexpr struct {
  const char* name;
  ParametricPolicy::Form form;
} kForms[] = {
    {"dtr", {Cost::kEStar, true, 1}},       {"dtr_eq", {Cost::kEq, true, 1}},
    {"dtr_local", {Cost::kLocal, true, 1}}, {"lru", {Cost::kNone, false, 1}},
    {"msps", {Cost::kAncestors, true, 0}},  {"size", {Cost::kNone, true, 0}},
};

// And one line each of the others.
constexpr struct {
  const char* name;
  absl::StatusOr<std::unique_ptr<Policy>> (*make)(const PolicySettings&);
} kOthers[] = {
    {"random", RandomPolicy::Make},
    {"score", ParametricPolicy::Make},
};

bool IsName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) ||
           absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '_';
  });
}

absl::Status Refuse(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(text), "\" is not a policy: ", why));
}

}  // namespace

PolicyRegistry PolicyRegistry::Builtin() {
  PolicyRegistry registry;
  for (const auto& entry : kForms) {
    const ParametricPolicy::Form form = entry.form;
    registry.makers_[entry.name] = [form](const PolicySettings& settings) {
      return std::make_unique<ParametricPolicy>(settings.text(), form);
    };
  }
  for (const auto& entry : kOthers) registry.makers_[entry.name] = entry.make;
  return registry;
}

absl::Status PolicyRegistry::Register(const std::string& name, Maker maker) {
  if (!IsName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", name, "\" is no name for a policy: a-z, 0-9 and _ are accepted"));
  }
  if (!makers_.emplace(name, std::move(maker)).second) {
    return absl::AlreadyExistsError(
        absl::StrCat("there is a policy \"", name, "\" already"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Policy>> PolicyRegistry::Make(
    absl::string_view text) const {
  const absl::StatusOr<PolicySettings> settings = PolicySettings::Parse(text);
  if (!settings.ok()) return Refuse(text, settings.status().message());
  const auto found = makers_.find(settings->name());
  if (found == makers_.end()) {
    return Refuse(text,
                  absl::StrCat("accepted are ", absl::StrJoin(names(), ", "),
                               ", each optionally followed by :release=lazy or "
                               ":release=eager"));
  }
  absl::StatusOr<std::unique_ptr<Policy>> policy = found->second(*settings);
  if (!policy.ok()) return Refuse(text, policy.status().message());
  RK_CHECK(*policy != nullptr, "the maker of a policy returned none");
  const ReleaseRule own = (*policy)->release_rule();
  const absl::StatusOr<ReleaseRule> rule = settings->OneOf<ReleaseRule>(
      "release", own,
      {{"lazy", ReleaseRule::kLazy}, {"eager", ReleaseRule::kEager}});
  if (!rule.ok()) return Refuse(text, rule.status().message());
  (*policy)->set_release_rule(*rule);
  const absl::Status used = settings->CheckAllUsed();
  if (!used.ok()) return Refuse(text, used.message());
  return policy;
}

std::vector<std::string> PolicyRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, maker] : makers_) names.push_back(name);
  return names;
}

absl::StatusOr<std::unique_ptr<Policy>> MakePolicy(absl::string_view text) {
  return PolicyRegistry::Builtin().Make(text);
}

}  // namespace rekindle
