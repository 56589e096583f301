// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/environment_options.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rekindle/base/environment.h"
#include "rekindle/base/log.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/runtime/open_device.h"
#include "rekindle/runtime/options.h"

namespace rekindle {
namespace {

constexpr absl::string_view kPrefix = "REKINDLE_";

absl::Status Bad(const char* variable, absl::string_view value,
                 absl::string_view accepted) {
  return absl::InvalidArgumentError(absl::StrCat(
      variable, "=\"", absl::CHexEscape(value), "\": accepted are ", accepted));
}

absl::Status SetBudget(const std::string& value, RuntimeOptions& options) {
  const absl::StatusOr<Budget> budget = Budget::Parse(value);
  if (!budget.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("REKINDLE_BUDGET: ", budget.status().message()));
  }
  options.budget = *budget;
  return absl::OkStatus();
}

absl::Status SetDevice(const std::string& value, RuntimeOptions& options) {
  if (value != "auto" && value != "host" && value != "counting" &&
      !internal::IsCudaName(value)) {
    return Bad("REKINDLE_DEVICE", value, "auto, host, counting and cuda:0");
  }
  options.device = value;
  return absl::OkStatus();
}

absl::Status SetPolicy(const std::string& value, RuntimeOptions& options) {
  const auto policy = options.policies.Make(value);
  if (!policy.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("REKINDLE_POLICY: ", policy.status().message()));
  }
  options.policy = value;
  return absl::OkStatus();
}

absl::Status SetVerify(const std::string& value, RuntimeOptions& options) {
  if (value != "0" && value != "1") {
    return Bad("REKINDLE_VERIFY", value,
               "0 (off) and 1 (check what every kernel does; slow)");
  }
  options.verify = value == "1";
  return absl::OkStatus();
}

absl::Status SetStats(const std::string& value, RuntimeOptions& options) {
  if (value != "0" && value != "1") {
    return Bad("REKINDLE_STATS", value,
               "0 (off) and 1 (print statistics at the end)");
  }
  options.print_stats = value == "1";
  return absl::OkStatus();
}

absl::Status SetLog(const std::string& value, RuntimeOptions& options) {
  constexpr const char* kLevels[] = {"quiet", "warn", "info"};
  for (int level = 0; level < 3; ++level) {
    if (value != kLevels[level] && value != absl::StrCat(level)) continue;
    options.log_level = level;
    return absl::OkStatus();
  }
  return Bad("REKINDLE_LOG", value,
             "quiet or 0, warn or 1 (the default), and info or 2");
}

struct Variable {
  const char* name;
  absl::Status (*set)(const std::string& value, RuntimeOptions& options);
};

constexpr Variable kVariables[] = {
    {"REKINDLE_BUDGET", SetBudget}, {"REKINDLE_DEVICE", SetDevice},
    {"REKINDLE_POLICY", SetPolicy}, {"REKINDLE_VERIFY", SetVerify},
    {"REKINDLE_STATS", SetStats},   {"REKINDLE_LOG", SetLog},
};

// What only scripts of this project read.
constexpr const char* kScriptVariables[] = {"REKINDLE_SETUP"};

bool IsKnown(const std::string& name) {
  return absl::c_linear_search(kScriptVariables, name) ||
         absl::c_any_of(kVariables, [&](const Variable& variable) {
           return variable.name == name;
         });
}

// Smallest number of letters to insert, delete or replace (Levenshtein).
size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string UnknownVariableWarning(const std::string& name) {
  const Variable* nearest = absl::c_min_element(
      kVariables, [&](const Variable& a, const Variable& b) {
        return Distance(name, a.name) < Distance(name, b.name);
      });
  if (Distance(name, nearest->name) <= 3) {
    return absl::StrCat(name, " is not a variable of Rekindle; did you mean ",
                        nearest->name, "?");
  }
  const auto append = [](std::string* out, const Variable& variable) {
    out->append(variable.name);
  };
  return absl::StrCat(name, " is not a variable of Rekindle; there are ",
                      absl::StrJoin(kVariables, ", ", append));
}

}  // namespace

namespace internal {

std::vector<std::string> UnknownVariableWarnings(
    absl::Span<const std::string> names) {
  std::vector<std::string> warnings;
  for (const std::string& name : names) {
    if (!IsKnown(name)) warnings.push_back(UnknownVariableWarning(name));
  }
  return warnings;
}

}  // namespace internal

absl::StatusOr<RuntimeOptions> RuntimeOptions::FromEnvironment(
    PolicyRegistry policies) {
  absl::StatusOr<RuntimeOptions> options =
      FromEnvironment(GetEnvironment, std::move(policies));
  if (!options.ok()) return options;
  const Log log(static_cast<LogLevel>(options->log_level));
  for (const std::string& warning :
       internal::UnknownVariableWarnings(EnvironmentNames(kPrefix))) {
    log.Warning(warning);
  }
  return options;
}

absl::StatusOr<RuntimeOptions> RuntimeOptions::FromEnvironment(
    const std::function<std::optional<std::string>(const char*)>& lookup,
    PolicyRegistry policies) {
  RuntimeOptions options;
  options.policies = std::move(policies);
  for (const Variable& variable : kVariables) {
    const std::optional<std::string> value = lookup(variable.name);
    if (value.has_value()) RK_RETURN_IF_ERROR(variable.set(*value, options));
  }
  return options;
}

}  // namespace rekindle
