// SPDX-License-Identifier: Apache-2.0
// Runs a program beside a model that keeps every value in host memory.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "rekindle/engine/types.h"
#include "tests/programs/program.h"

namespace rekindle::programs {

// One call that is to fail while a program runs.
struct Fault {
  enum class Kind : uint8_t {
    kNone,
    kDeviceCall,    // of Device, with `code`
    kDriverCall,    // of the CUDA driver; queued device only
    kKernelError,   // a run of a kernel gives Unavailable
    kKernelThrows,  // a run of a kernel throws
  };
  Kind kind = Kind::kNone;
  int64_t at = 0;  // the first is 1
  absl::StatusCode code = absl::StatusCode::kUnavailable;
};

struct RunOptions {
  // Engine and allocator check themselves after every operation; with a fault,
  // after every operation since.
  bool check_invariants = true;
  // What fails with this fault is done again.
  Fault fault;
};

struct Outcome {
  // What was wrong first; empty if nothing was.
  std::string failure;
  EngineStats stats;
  int64_t exhausted = 0;  // operations that did not fit at first
  bool faulted = false;   // the fault has happened
  // Calls and kernel runs that could have failed.
  int64_t device_calls = 0;
  int64_t driver_calls = 0;
  int64_t kernel_runs = 0;
};

// What must hold: every value has the bits of the model whenever it is looked
// at; the device never gives more than the budget (when the budget falls below
// what is held, no more than that); an operation that does not fit names a
// budget under which it does; at the end everything is given back.
Outcome RunProgram(const Program& program, const RunOptions& options = {});

}  // namespace rekindle::programs
