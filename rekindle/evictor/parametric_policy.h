// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rekindle/evictor/neighbourhood.h"
#include "rekindle/evictor/policy.h"
#include "rekindle/evictor/policy_settings.h"

namespace rekindle {

// The form that most published heuristics have:
//
//   score = cost / (bytes^size * (now - last access)^staleness)
//
// Time counts only if `staleness` is above 0; a storage whose cost is 0 goes
// before all others, and one that was accessed at this moment after them.
class ParametricPolicy : public LinePolicy {
 public:
  enum class Cost {
    kNone,       // 1
    kLocal,      // of the call that makes it
    kAncestors,  // and of what it is made from, as far as that is evicted
    kEq,         // local, and of the evicted components around it (union-find)
    kEStar,      // local, and of all evicted relatives
  };
  struct Form {
    Cost cost = Cost::kEStar;
    bool size = true;
    double staleness = 1;  // 0, or from kMinStaleness to kMaxStaleness
  };
  // Between them no height leaves the range of a double.
  static constexpr double kMinStaleness = 0.1;
  static constexpr double kMaxStaleness = 10;

  ParametricPolicy(std::string name, Form form);

  // Reads cost=none|local|ancestors|eq|estar, size=0|1, staleness=NUMBER; what
  // is not given is as in Form.
  static absl::StatusOr<std::unique_ptr<Policy>> Make(
      const PolicySettings& settings);

  std::string name() const override { return name_; }
  void Attach(const Lineage& lineage, VictimIndex& index) override;
  Line LineOf(const Node& node) override;
  Line BoundOf(const Node& node) override;
  double TimeOf(double now) const override;
  void OnEvicted(Node& node) override;
  void OnResident(Node& node) override;
  void OnForgotten(Node& node) override;
  void Refresh() override;

 private:
  Line WithCost(double cost, const Node& node) const;

  const std::string name_;
  const Form form_;
  const std::unique_ptr<Neighbourhood> neighbourhood_;  // null: not asked
};

}  // namespace rekindle
