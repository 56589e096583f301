// SPDX-License-Identifier: Apache-2.0
// The vocabulary between the engine and those who embed it: what a call is,
// what a kernel is given, what is counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "rekindle/base/ids.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/label.h"

namespace rekindle {

// What a storage is for. Only reports look at it.
enum class Kind : uint8_t {
  kActivation,
  kParameter,
  kGradient,
  kOptimizer,
  kInput,
  kOther,
};
inline constexpr int kKinds = 6;

// "activation", "parameter", ...
const char* KindName(Kind kind);

// How much the program wants the outputs of a call kept, whatever the policy
// thinks of their cost.
enum class Keep : uint8_t {
  kDefault,
  kCheap,      // cheap to recompute: give these up first
  kRatherNot,  // rather not recompute
  kNever,      // recompute only if nothing else can be given up
};

// What a kernel is given. Valid during the call only.
struct KernelBinding {
  // One a declared input. An input that the call mutates is at the address of
  // its new value, which starts as a copy of the old one.
  absl::Span<const DeviceAddress> inputs;
  absl::Span<const DeviceAddress> outputs;
  DeviceAddress workspace = 0;
  Stream stream;
};

// Runs a call; may run again at any later time. Must be a pure function of the
// binding and must not call the engine. An error must be returned before any
// constant that the call mutates has changed.
using Executor = absl::AnyInvocable<absl::Status(const KernelBinding&)>;

// Most calls have few of each: no allocation then.
using StorageIds = absl::InlinedVector<StorageId, 4>;
using InputIndices = absl::InlinedVector<int, 2>;

struct CallSpec {
  Label label;
  StorageIds inputs;
  absl::InlinedVector<size_t, 2> output_bytes;
  Kind output_kind = Kind::kActivation;
  // Indices into `inputs` of what the call updates in place. It takes over one
  // reference to each (see Engine::Run). A storage named here may be given
  // more than once; every occurrence then sees the update.
  InputIndices mutates;
  // Indices into `inputs` of what the call updates as a side effect on which
  // its other outputs do not depend (running statistics); constants afterwards.
  // Happens at the first run only: a recomputation writes to zeroed scratch
  // instead.
  InputIndices effects;
  size_t workspace_bytes = 0;
  // Time of one run in any one unit, the same for all calls; what policies and
  // the engine's clock count. Negative: measure it, in seconds.
  double cost = 0;
  // Where its work is put. It waits there for what other streams did to its
  // inputs; and others for it. A recomputation goes to the stream of whoever
  // needs it.
  Stream stream;
  // A call that is not pure never runs again: its outputs are constants.
  bool pure = true;
  Keep keep = Keep::kDefault;
  Executor execute;
};

// Indices of all inputs that the call updates: `mutates`, then `effects`.
InputIndices ChangedInputs(const CallSpec& spec);

struct EngineStats {
  // Bytes of storages now on the device, by kind, and of those that cannot be
  // given up: constants (by kind) and pinned ones.
  std::array<size_t, kKinds> resident_bytes{};
  std::array<size_t, kKinds> constant_bytes{};
  size_t pinned_bytes = 0;
  // Bytes of referenced and pinned storages plus workspace, now and at most:
  // what the program needs when nothing is ever given up.
  size_t live_bytes = 0;
  size_t peak_live_bytes = 0;
  int64_t evictions = 0;       // given up to make room, recomputable
  int64_t releases = 0;        // bytes freed because nobody needed them
  int64_t compactions = 0;     // times small ones were moved to make room
  int64_t moves = 0;           // storages that moved then
  int64_t calls = 0;           // first runs
  int64_t recomputations = 0;  // further runs
  // The longest chain of calls, each reading what the one before made, that one
  // request had to run again.
  int64_t max_depth = 0;
  // Evicted values for which an update had to see to it that they can still be
  // computed.
  int64_t rescues = 0;
  double call_cost = 0;  // cost of first runs
  double recompute_cost = 0;
  int64_t storages = 0;  // records now alive
  int64_t lineage_calls = 0;
};

}  // namespace rekindle
