// SPDX-License-Identifier: Apache-2.0
// Least recently used first.
#include "rekindle/evictor/builtin.h"

namespace rekindle {
namespace {

class Lru : public Policy {
 public:
  Lru() : Policy(ReleaseRule::kEager) {}
  std::string name() const override { return "lru"; }
  double Score(const Node& node, double /*now*/) override {
    return node.last_access;
  }
};

}  // namespace

std::unique_ptr<Policy> MakeLru() { return std::make_unique<Lru>(); }

}  // namespace rekindle
