// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/named_scope.h"

#include "absl/strings/str_cat.h"

namespace rekindle::ops {

NamedScope::NamedScope(const Var& x, const std::string& name)
    : tape_(x.tape_),
      outer_length_(tape_ == nullptr ? 0 : tape_->scope_.size()) {
  if (x.context_ != nullptr) scope_.emplace(x.context_->runtime(), name);
  if (tape_ == nullptr) return;
  absl::StrAppend(&tape_->scope_, tape_->scope_.empty() ? "" : "/", name);
}

NamedScope::~NamedScope() {
  if (tape_ != nullptr) tape_->scope_.resize(outer_length_);
}

}  // namespace rekindle::ops
