// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace rekindle {

// What one call draws its random numbers from: Philox4x32-10 with this key and
// `draw` as the high half of the counter; the kernel counts its elements in the
// low half. The same numbers come out however often the call runs.
struct RandomState {
  uint64_t key = 0;
  uint64_t draw = 0;
};

// Numbers the random calls of one thread of a program. Thread-compatible: give
// each thread its own, with its own seed.
class Generator {
 public:
  explicit Generator(uint64_t seed) : state_{seed, 0} {}

  // The state for one call; never the same twice.
  RandomState Next() { return {state_.key, state_.draw++}; }

  // To save and restore, as with a checkpoint of the parameters.
  RandomState state() const { return state_; }
  void set_state(RandomState state) { state_ = state; }

 private:
  RandomState state_;
};

}  // namespace rekindle
