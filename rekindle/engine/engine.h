// SPDX-License-Identifier: Apache-2.0
// Storages that can be given up and made again, under a hard budget.
//
// The engine knows bytes, calls and an executor that runs a call. It knows no
// shapes, kernels or files, so that the same engine serves real tensors, the
// simulator (a counting device) and other tensor libraries.
//
// A storage is, at any moment, in one of these states:
//
//   state       bytes on device  can be a victim  leaves by
//   constant    yes              no               the end of its record
//   resident    yes              if not pinned    Evict, Detach, the end
//   evicted     no               -                recomputation, the end
//
// Constants have no lineage; all others remember the call that made them. A
// record ends when the storage has no reference and no pin and no live record
// has it as an input. A resident storage without references loses its bytes at
// once (policies with the eager rule), or as soon as no live evicted storage
// would have to be recomputed from it (lazy rule).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/base/ids.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/shortfall.h"
#include "rekindle/engine/types.h"
#include "rekindle/evictor/policy.h"

namespace rekindle {

// What a successful Run gives back. The caller owns one reference to each.
struct CallResult {
  StorageIds outputs;
  // New versions of the inputs named by CallSpec::mutates, then of those named
  // by CallSpec::effects, in the order given there.
  StorageIds updated;
};

// What the engine tells of one storage.
struct StorageInfo {
  Label label;
  Kind kind = Kind::kOther;
  size_t bytes = 0;
  bool resident = false;
  bool constant = false;
  int references = 0;
  int pins = 0;
  StorageId id;
  bool adopted = false;       // see AdoptConstant
  DeviceAddress address = 0;  // while it is resident and nothing runs
};

struct EngineOptions {
  // Hashes all values before and after each kernel, to find calls that do not
  // do what they declare: FailedPrecondition that names the call. Slow.
  bool verify = false;
  // When more calls than this are remembered, the values with the longest
  // history are made constants, as far as the budget allows, until half of it
  // is left. 0: no limit. For programs that carry values on without DetachAll.
  int64_t max_lineage_calls = 0;
};

// Thread-compatible. Every operation either succeeds or leaves all values as
// they were (bytes that can be recomputed may have been given up).
//
// Streams. The work of a call, and of all that it makes the engine do, is put
// on one stream; events order it after the work of others on the same bytes.
// The host never waits for work, except as Allocator says.
//
// ResourceExhausted means that the budget cannot hold what is needed at once;
// last_shortfall() then has the numbers, and raising the budget makes the same
// operation succeed. (One that came out of the device or an executor leaves
// last_shortfall() empty.)
class Engine {
 public:
  // `device` and `allocator` outlive the engine.
  Engine(Device& device, Allocator& allocator, std::unique_ptr<Policy> policy,
         const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // A constant of undefined contents, with one reference.
  absl::StatusOr<StorageId> AddConstant(size_t bytes, Kind kind, Label label);
  // A constant on memory that is not the allocator's and not counted;
  // `release` runs when the storage goes. REQUIRES: `release` is not empty.
  StorageId AdoptConstant(DeviceAddress address, size_t bytes, Kind kind,
                          Label label, std::function<void()> release);

  // Runs a call: makes its inputs resident, makes room, executes, records.
  //
  // Updates in place: each input in `mutates` becomes a new storage that takes
  // over its bytes and one of its references (the caller's handle moves on to
  // the new id). If it has other references, or something alive still needs
  // the old value, that value stays readable under the old id. An update of a
  // constant gives a constant and is never run again.
  // REQUIRES: the caller holds a reference to every input.
  // Takes `spec.execute`; after an error, `spec` is as it was.
  // Errors: InvalidArgument (an unknown id, an index out of range or twice),
  // ResourceExhausted, or what the executor returned.
  absl::StatusOr<CallResult> Run(CallSpec&& spec);

  // The error that Run gives for what does not fit, with the numbers for a call
  // that also needs blocks of the sizes in `copies`: for those who must make
  // such copies first, and could not. REQUIRES: `spec` is valid.
  absl::Status Exhausted(const CallSpec& spec, absl::Span<const size_t> copies);

  void AddReference(StorageId storage);
  void DropReference(StorageId storage);

  // Makes a storage resident and keeps it at the address until the matching
  // Unpin, which names the same stream. What is put on the stream in between
  // sees the value, and finishes before the bytes are written over, move or are
  // used for something else. Errors: ResourceExhausted, or of a call that is
  // run again.
  absl::StatusOr<DeviceAddress> Pin(StorageId storage, const Label& by,
                                    Stream stream = {});
  // REQUIRES: such a pin.
  void Unpin(StorageId storage, Stream stream = {});

  // Makes it safe to write over a constant, as Run does for `mutates`, and
  // pins the new version; after Unpin, its readers wait for what was put on the
  // stream. Takes over one reference.
  // Errors: FailedPrecondition if the storage is no constant; as Pin.
  struct Writable {
    StorageId storage;
    DeviceAddress address;
  };
  absl::StatusOr<Writable> PinForWrite(StorageId storage, const Label& by,
                                       Stream stream = {});

  // The stream was destroyed, after all its work. To be told of every stream
  // that was named here, before another one gets its handle. REQUIRES: no pin
  // names it.
  void StreamEnded(Stream stream);

  // Makes a storage resident and turns it into a constant. Errors: as Pin.
  absl::Status Detach(StorageId storage);
  // Detaches every referenced storage, oldest first.
  absl::Status DetachAll();

  // Gives the bytes of a storage up now. False if it is a constant, pinned or
  // not resident.
  bool Evict(StorageId storage);

  // Limits physical memory; gives up what can be given up until it fits.
  absl::Status SetBudget(size_t bytes);

  bool IsConstant(StorageId storage) const;
  bool IsResident(StorageId storage) const;
  // All storages alive, oldest first.
  std::vector<StorageInfo> Storages() const;

  EngineStats stats() const;
  // Starts a new measurement of peak_live_bytes.
  void ResetPeak();
  // The numbers, if the latest operation that could fail did not fit.
  const std::optional<Shortfall>& last_shortfall() const;

  // Aborts with a description unless all bookkeeping agrees. Slow; for tests.
  void CheckInvariants() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rekindle
