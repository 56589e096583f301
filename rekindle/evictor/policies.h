// SPDX-License-Identifier: Apache-2.0
// Policies by name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rekindle/evictor/policy.h"
#include "rekindle/evictor/policy_settings.h"

namespace rekindle {

// The policies that a name can mean. Copied by value; thread-compatible.
class PolicyRegistry {
 public:
  using Maker = std::function<absl::StatusOr<std::unique_ptr<Policy>>(
      const PolicySettings&)>;

  // Those that come with Rekindle:
  //   dtr        h_DTR: cost of all evicted relatives / (bytes * staleness)
  //   dtr_eq     h_DTR_eq: the same, by union-find
  //   dtr_local  h_local: cost / (bytes * staleness)
  //   msps       cost with that of evicted ancestors / bytes
  //   lru        least recently used
  //   size       largest first
  //   random     any; seed=NUMBER
  //   score      any of this form, see ParametricPolicy; cost=, size=,
  //              staleness=
  // All but the last two are instances of `score`. Sources: Kirisame et al.,
  // "Dynamic Tensor Rematerialization", ICLR 2021; msps: Peng et al.,
  // "Capuchin", ASPLOS 2020.
  static PolicyRegistry Builtin();

  // Adds a policy. Errors: AlreadyExists; InvalidArgument for a name that is
  // empty or has a character other than a-z, 0-9 and _.
  absl::Status Register(const std::string& name, Maker maker);

  // Makes a policy from "name" or "name:key=value,...". Keys of every policy:
  // release=lazy|eager, instead of its own rule.
  // Errors: InvalidArgument that lists what is accepted.
  absl::StatusOr<std::unique_ptr<Policy>> Make(absl::string_view text) const;

  // In alphabetical order.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Maker> makers_;
};

// One of the builtin ones.
absl::StatusOr<std::unique_ptr<Policy>> MakePolicy(absl::string_view text);

}  // namespace rekindle
