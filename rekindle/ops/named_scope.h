// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "rekindle/ops/tape.h"
#include "rekindle/ops/var.h"
#include "rekindle/runtime/runtime.h"

namespace rekindle::ops {

// Names what is computed on this thread while it lives, and later the gradients
// of that: the runtime's Scope, remembered by the tape of `x`, if it has one.
// Scopes nest.
class NamedScope {
 public:
  NamedScope(const Var& x, const std::string& name);
  ~NamedScope();
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;

 private:
  std::optional<Scope> scope_;
  Tape* const tape_;
  const size_t outer_length_;
};

}  // namespace rekindle::ops
