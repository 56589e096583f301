// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rekindle/evictor/policy.h"
#include "rekindle/evictor/policy_settings.h"

namespace rekindle {

// Any candidate with the same probability: each time that a storage becomes
// resident, it draws its place in the order.
class RandomPolicy : public LinePolicy {
 public:
  explicit RandomPolicy(std::string name, uint64_t seed);
  // Reads seed=NUMBER (default 1).
  static absl::StatusOr<std::unique_ptr<Policy>> Make(
      const PolicySettings& settings);

  std::string name() const override { return name_; }
  Line LineOf(const Node& node) override;
  double TimeOf(double /*now*/) const override { return 1; }

 private:
  const std::string name_;
  const uint64_t seed_;
};

}  // namespace rekindle
