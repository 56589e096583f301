// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/random_policy.h"

#include <cstring>
#include <utility>

#include "rekindle/base/philox.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {

RandomPolicy::RandomPolicy(std::string name, uint64_t seed)
    : LinePolicy(ReleaseRule::kEager), name_(std::move(name)), seed_(seed) {}

absl::StatusOr<std::unique_ptr<Policy>> RandomPolicy::Make(
    const PolicySettings& settings) {
  RK_ASSIGN_OR_RETURN(const double seed, settings.Number("seed", 1));
  return std::make_unique<RandomPolicy>(settings.text(),
                                        static_cast<uint64_t>(seed));
}

Line RandomPolicy::LineOf(const Node& node) {
  // Differs from one residency to the next, and does not change during one.
  uint64_t accessed = 0;
  std::memcpy(&accessed, &node.last_access, sizeof(accessed));
  const uint64_t id = static_cast<uint64_t>(node.id.value());
  const uint32_t word = PhiloxBlock({seed_, id}, accessed)[0];
  return {1 + static_cast<double>(word), 0};
}

}  // namespace rekindle
