// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "rekindle/base/philox.h"

namespace rekindle {

// Numbers the random calls of one thread of a program. Each call draws from
// Philox under the generator's key and a draw of its own, so the same numbers
// come out however often the call runs. Thread-compatible: give each thread its
// own, with its own seed.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_{seed, 0} {}

  // The draw of one call; never the same twice.
  PhiloxDraw Next() { return {state_.key, state_.draw++}; }

  // To save and restore, as with a checkpoint of the parameters.
  PhiloxDraw state() const { return state_; }
  void set_state(PhiloxDraw state) { state_ = state; }

 private:
  PhiloxDraw state_;
};

}  // namespace rekindle
