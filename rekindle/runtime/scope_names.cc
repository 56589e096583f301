// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/scope_names.h"

#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"

namespace rekindle::internal {

void ScopeNames::Push(const std::string& name) {
  MutexLock lock(mutex_);
  ++scopes_;
  std::vector<std::string>& prefixes = prefixes_[std::this_thread::get_id()];
  prefixes.push_back(
      absl::StrCat(prefixes.empty() ? "" : prefixes.back(), name, "/"));
}

void ScopeNames::Pop() {
  MutexLock lock(mutex_);
  const auto it = prefixes_.find(std::this_thread::get_id());
  RK_CHECK(it != prefixes_.end(), "a Scope ended on another thread");
  --scopes_;
  it->second.pop_back();
  if (it->second.empty()) prefixes_.erase(it);
}

std::string ScopeNames::Qualify(const std::string& name) const {
  // Whatever this thread has entered, it knows of.
  if (scopes_.load(std::memory_order_relaxed) == 0) return name;
  MutexLock lock(mutex_);
  const auto it = prefixes_.find(std::this_thread::get_id());
  if (it == prefixes_.end()) return name;
  return absl::StrCat(it->second.back(), name);
}

}  // namespace rekindle::internal
