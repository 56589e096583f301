// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/types.h"

namespace rekindle {

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kActivation:
      return "activation";
    case Kind::kParameter:
      return "parameter";
    case Kind::kGradient:
      return "gradient";
    case Kind::kOptimizer:
      return "optimizer";
    case Kind::kInput:
      return "input";
    case Kind::kOther:
      return "other";
  }
  return "unknown";
}

InputIndices ChangedInputs(const CallSpec& spec) {
  InputIndices changed = spec.mutates;
  changed.insert(changed.end(), spec.effects.begin(), spec.effects.end());
  return changed;
}

}  // namespace rekindle
