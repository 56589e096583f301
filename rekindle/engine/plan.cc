// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/plan.h"

#include <algorithm>
#include <utility>

namespace rekindle {

Plan::Plan(Residency& residency, std::vector<Call*> calls,
           absl::Span<Storage* const> targets)
    : residency_(residency),
      calls_(std::move(calls)),
      targets_(targets.begin(), targets.end()) {
  // Backwards, so that each use knows the one after it. The targets are used
  // at the very end.
  int64_t position = static_cast<int64_t>(calls_.size());
  for (Storage* target : targets_) {
    residency_.SetPlanUse(*target, target->plan_uses + 1, position);
  }
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    --position;
    const auto& parents = (*call)->parents;
    for (auto parent = parents.rbegin(); parent != parents.rend(); ++parent) {
      Storage& storage = *parent->storage;
      next_uses_.push_back(storage.next_use);
      residency_.SetPlanUse(storage, storage.plan_uses + 1, position);
    }
  }
  std::reverse(next_uses_.begin(), next_uses_.end());
}

Plan::~Plan() {
  while (!done()) Advance();
  for (Storage* target : targets_) {
    residency_.SetPlanUse(*target, 0, Storage::kNoUse);
  }
}

void Plan::Advance() {
  for (const Call::Parent& parent : next().parents) {
    Storage& storage = *parent.storage;
    residency_.SetPlanUse(storage, storage.plan_uses - 1, next_uses_[use_++]);
  }
  ++position_;
}

}  // namespace rekindle
