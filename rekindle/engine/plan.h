// SPDX-License-Identifier: Apache-2.0
// The calls of one recomputation, in order, and who reads what when. Internal
// to engine/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rekindle/engine/records.h"
#include "rekindle/engine/residency.h"

namespace rekindle {

// While it lives, every storage that a call still to come reads, and every
// target, is kept back from eviction as long as there is any other victim.
class Plan {
 public:
  // `calls` in program order make the evicted ones of `targets`.
  Plan(Residency& residency, std::vector<Call*> calls,
       absl::Span<Storage* const> targets);
  // Lets go of all storages.
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  bool done() const { return position_ == calls_.size(); }
  // The call to run next. REQUIRES: !done().
  Call& next() const { return *calls_[position_]; }
  // After next() has run.
  void Advance();

 private:
  Residency& residency_;
  std::vector<Call*> calls_;
  std::vector<Storage*> targets_;
  // For each parent of each call, in order: the next use after that one.
  std::vector<int64_t> next_uses_;
  size_t position_ = 0;
  size_t use_ = 0;  // index into next_uses_ of the first parent of next()
};

}  // namespace rekindle
