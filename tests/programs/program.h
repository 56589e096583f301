// SPDX-License-Identifier: Apache-2.0
// Random programs as data: lists of operations with every random number already
// drawn, so that a failing one can be made smaller, printed and read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rekindle/engine/types.h"

namespace rekindle::programs {

enum class Action : uint8_t {
  kConstant,   // a new constant of outputs[0] words
  kCall,       // a new value for each of `outputs`; see below
  kView,       // a new value that shares the bytes of a part of one
  kSnapshot,   // a new value: one as it is now
  kRead,       // compares a value
  kWrite,      // writes over a constant; nothing if the value has lineage
  kEvict,      // gives up a value's bytes by hand
  kGuard,      // pins a value until a kEndGuard, at most kMostGuards at once
  kEndGuard,   // compares what the oldest guard pins, and ends it
  kRelease,    // lets a value go
  kDetach,     // makes a constant of a value
  kStep,       // makes constants of all values
  kBudget,     // the budget becomes `amount` chunks
  kEndStream,  // ends a stream, unless a guard is on it, and begins another
};
inline constexpr int kActions = 14;
inline constexpr size_t kMostGuards = 2;

// `operands` are values, modulo how many there are at that time: any part of a
// program is a program. Without values, what needs one does nothing.
struct Operation {
  Action action = Action::kCall;
  uint32_t salt = 0;  // of contents and results
  std::vector<uint32_t> operands;
  std::vector<uint32_t> outputs;  // words of each
  // Of a call. It updates the first `mutates` different operands and, as a side
  // effect, the last one, if that is none of the others.
  uint32_t mutates = 0;
  bool effect = false;
  bool draws = false;  // from the program's generator (runtime)
  bool pure = true;
  Keep keep = Keep::kDefault;
  uint32_t workspace = 0;  // bytes
  uint32_t cost = 1;
  uint32_t stream = 0;  // modulo how many there are
  uint32_t amount = 0;

  friend bool operator==(const Operation&, const Operation&) = default;
};

enum class Level : uint8_t { kEngine, kRuntime };
// kHost works at once, on poisoned memory; kQueued late, in an order drawn from
// the seed among all that streams and events allow.
enum class DeviceKind : uint8_t { kHost, kQueued };

struct Program {
  uint32_t seed = 0;
  Level level = Level::kEngine;
  DeviceKind device = DeviceKind::kHost;
  size_t budget = 0;  // bytes; 0: no limit, and kBudget does nothing
  std::string policy = "dtr_eq:release=lazy";
  uint32_t streams = 1;
  size_t small_block_limit = 0;   // engine
  int64_t max_lineage_calls = 0;  // 0: no limit
  bool verify = false;            // on the host
  bool record_steps = false;      // runtime
  std::vector<Operation> operations;

  friend bool operator==(const Program&, const Program&) = default;
};

// The unit of memory of all programs' devices, in bytes.
inline constexpr size_t kChunk = 4096;

// One line for the settings and one for each operation; fields that have their
// default value are left out.
std::string ToString(const Program& program);
std::string ToString(const Operation& operation);
// Reads what ToString wrote. Errors: InvalidArgument that names the line.
absl::StatusOr<Program> Parse(absl::string_view text);

}  // namespace rekindle::programs
