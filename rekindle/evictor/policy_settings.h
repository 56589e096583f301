// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {

// What follows the name of a policy: "score:cost=eq,size=1". Errors are
// InvalidArgument and say what is accepted.
class PolicySettings {
 public:
  // Reads "name" or "name:key=value,...".
  static absl::StatusOr<PolicySettings> Parse(absl::string_view text);

  const std::string& name() const { return name_; }
  // As it was given, name and all.
  const std::string& text() const { return text_; }

  // The value of a key; `otherwise` if it is not given.
  template <typename T>
  absl::StatusOr<T> OneOf(
      const std::string& key, T otherwise,
      const std::vector<std::pair<std::string, T>>& accepted) const {
    RK_ASSIGN_OR_RETURN(const size_t choice, Choose(key, Names(accepted)));
    return choice == accepted.size() ? otherwise : accepted[choice].second;
  }
  // A finite number, at least 0.
  absl::StatusOr<double> Number(const std::string& key, double otherwise) const;

  // InvalidArgument if a key was given for which nobody has asked.
  absl::Status CheckAllUsed() const;

 private:
  template <typename T>
  static std::vector<std::string> Names(
      const std::vector<std::pair<std::string, T>>& pairs) {
    std::vector<std::string> names;
    for (const auto& pair : pairs) names.push_back(pair.first);
    return names;
  }
  // The index of the value in `accepted`; its size if the key is not given.
  absl::StatusOr<size_t> Choose(const std::string& key,
                                const std::vector<std::string>& accepted) const;
  const std::string* Find(const std::string& key) const;

  std::string text_;
  std::string name_;
  std::map<std::string, std::string> values_;
  mutable std::set<std::string> asked_;
};

}  // namespace rekindle
