// SPDX-License-Identifier: Apache-2.0
// Streams, events and queued work as the fake driver has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "rekindle/device/cuda/driver_api.h"
#include "tests/device/cuda/fake_memory.h"
#include "tests/device/cuda/fake_rules.h"

namespace rekindle::cuda {

// Device memory that a piece of work reads or writes.
struct FakeRange {
  DevicePointer address = 0;
  size_t bytes = 0;
};

// Work waits in a queue for each stream, and runs only when something forces
// it: a wait, a query (as much as the seed says), the end of the context. The
// order is drawn from the seed among all that streams, events and the legacy
// stream allow. When a piece of work runs its ranges must be mapped and
// accessible; if not, the context is lost, as on a device, and whatever is
// queued never runs. Thread-compatible.
//
// Rules: unknown-stream, destroyed-stream, unknown-event, destroyed-event,
// sync-in-capture, query-in-capture, legacy-in-capture, access-* of FakeMemory.
class FakeWork {
 public:
  FakeWork(uint64_t seed, const FakeMemory& memory, RuleBook& rules)
      : memory_(memory), rules_(rules), random_(seed) {
    streams_[nullptr].blocking = true;  // the legacy stream
  }

  Result CreateStream(StreamHandle* stream, unsigned flags);
  // As on a device: returns at once, the work is done some time.
  Result DestroyStream(StreamHandle stream);
  Result Synchronize(StreamHandle stream);
  void SynchronizeAll();

  Result CreateEvent(EventHandle* event);
  Result DestroyEvent(EventHandle event);
  Result Record(EventHandle event, StreamHandle stream);
  Result Wait(StreamHandle stream, EventHandle event);
  Result Query(EventHandle event);

  // Queues `run`, called `name` in reports.
  Result Enqueue(StreamHandle stream, std::string name,
                 std::vector<FakeRange> ranges, std::function<void()> run);

  Result BeginCapture(StreamHandle stream);
  Result EndCapture(StreamHandle stream);
  Result IsCapturing(StreamHandle stream, CaptureStatus* status) const;
  bool AnyCapture() const;

  // A name of queued work that touches the range, empty if there is none.
  std::string PendingIn(DevicePointer address, size_t bytes) const;

  // Runs up to `most` pieces of work.
  void RunSome(size_t most);

  // A number below `bound`, from the seed.
  size_t Draw(size_t bound) { return random_() % bound; }

  // What the context is lost for, or kSuccess.
  Result fault() const { return fault_; }
  // Loses the context, as a broken kernel does.
  void SetFault(Result fault);
  void Repair() { fault_ = Result::kSuccess; }

  int64_t streams() const;  // without the legacy one
  int64_t events() const { return static_cast<int64_t>(events_.size()); }
  int64_t pending() const;

 private:
  struct Op {
    std::string name;
    std::vector<FakeRange> ranges;
    std::function<void()> run;
    std::vector<std::shared_ptr<Op>> after;  // besides its own stream's work
    bool done = false;
  };
  using OpPtr = std::shared_ptr<Op>;

  struct StreamState {
    bool blocking = false;
    bool capturing = false;
    bool destroyed = false;
    std::deque<OpPtr> queue;
  };
  struct EventState {
    OpPtr recorded;         // null: never
    bool captured = false;  // in a capture
  };

  // Looks `stream` up, or says which rule its use breaks.
  Result Find(StreamHandle stream, const char* call, StreamState** found);
  Result Find(EventHandle event, const char* call, EventState** found);
  OpPtr Push(StreamHandle stream, StreamState& state, std::string name);
  // False if nothing is queued.
  bool RunOne();
  void Run(Op& op);

  const FakeMemory& memory_;
  RuleBook& rules_;
  std::mt19937_64 random_;
  Result fault_ = Result::kSuccess;
  uintptr_t next_handle_ = 0x5000;  // never used twice
  std::map<StreamHandle, StreamState> streams_;
  std::map<EventHandle, EventState> events_;
};

}  // namespace rekindle::cuda
