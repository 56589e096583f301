// SPDX-License-Identifier: Apache-2.0
// What random programs run on: an Engine, or a Runtime.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/types.h"
#include "tests/programs/behaviour.h"
#include "tests/programs/program.h"
#include "tests/programs/program_device.h"

namespace rekindle::programs {

// A call with its operands found.
struct MachineCall {
  const Operation* operation = nullptr;
  std::vector<size_t> inputs;
  std::vector<int> mutates;  // indices into `inputs`
  std::vector<int> effects;
  Behaviour behaviour;
  Stream stream;
};

// Values go by their index. New ones come last; when one goes, the last one
// takes its place. An operation that fails changes nothing.
class Machine {
 public:
  virtual ~Machine() = default;

  virtual absl::Status Constant(const Words& words, Stream stream) = 0;
  // New values: the outputs.
  virtual absl::Status Call(const MachineCall& call) = 0;
  // `begin` and `end` in words. REQUIRES: has_views().
  virtual void View(size_t value, size_t begin, size_t end) = 0;
  virtual void Snapshot(size_t value) = 0;
  virtual void Release(size_t value) = 0;
  // Compares what is there when the stream comes to it with `words`.
  virtual absl::Status Read(size_t value, const Operation& how,
                            const Words& words, Stream stream,
                            const std::string& what) = 0;
  // FailedPrecondition if the value is no constant.
  virtual absl::Status Write(size_t value, const Words& words,
                             Stream stream) = 0;
  virtual void Evict(size_t value) = 0;
  virtual absl::Status Detach(size_t value) = 0;
  virtual absl::Status Step() = 0;
  virtual absl::Status SetBudget(size_t bytes) = 0;
  // Guards end in the order in which they came. The end compares first.
  virtual absl::Status Guard(size_t value, const Operation& how,
                             Stream stream) = 0;
  virtual absl::Status EndGuard(const Words& words,
                                const std::string& what) = 0;
  virtual absl::StatusOr<Stream> CreateStream() = 0;
  // FailedPrecondition while a guard is on it.
  virtual absl::Status EndStream(Stream stream) = 0;

  virtual bool has_views() const = 0;
  // Whether a call cannot take the two as different ones.
  virtual bool Same(size_t a, size_t b) const = 0;
  // The budget that the error names; nullopt if it names none.
  virtual std::optional<size_t> NamedBudget(
      const absl::Status& status) const = 0;
  virtual EngineStats engine_stats() const = 0;
  virtual AllocatorStats allocator_stats() const = 0;
  virtual void CheckInvariants() const = 0;
};

// A machine for the program, under its budget, on `device`, which outlives it.
std::unique_ptr<Machine> MakeMachine(const Program& program,
                                     ProgramDevice& device);
std::unique_ptr<Machine> MakeEngineMachine(const Program& program,
                                           ProgramDevice& device);
std::unique_ptr<Machine> MakeRuntimeMachine(const Program& program,
                                            ProgramDevice& device);

}  // namespace rekindle::programs
