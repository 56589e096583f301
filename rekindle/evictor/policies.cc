// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/policies.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/evictor/builtin.h"

namespace rekindle {
namespace {

struct Entry {
  const char* name;
  std::unique_ptr<Policy> (*make)();
};

// One line a policy.
constexpr Entry kPolicies[] = {
    {"dtr_eq", MakeDtrEq},
    {"dtr_local", MakeDtrLocal},
    {"lru", MakeLru},
};

absl::Status Unknown(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not a policy: accepted are ",
      absl::StrJoin(PolicyNames(), ", "),
      ", each optionally followed by :release=lazy or :release=eager"));
}

absl::Status Configure(absl::string_view text, absl::string_view setting,
                       Policy& policy) {
  if (setting == "release=lazy") {
    policy.set_release_rule(ReleaseRule::kLazy);
  } else if (setting == "release=eager") {
    policy.set_release_rule(ReleaseRule::kEager);
  } else {
    return Unknown(text);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Policy>> MakePolicy(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  for (const Entry& entry : kPolicies) {
    if (parts.first != entry.name) continue;
    std::unique_ptr<Policy> policy = entry.make();
    if (text.size() == parts.first.size()) return policy;
    for (absl::string_view setting : absl::StrSplit(parts.second, ',')) {
      RK_RETURN_IF_ERROR(Configure(text, setting, *policy));
    }
    return policy;
  }
  return Unknown(text);
}

std::vector<std::string> PolicyNames() {
  std::vector<std::string> names;
  for (const Entry& entry : kPolicies) names.emplace_back(entry.name);
  return names;
}

}  // namespace rekindle
