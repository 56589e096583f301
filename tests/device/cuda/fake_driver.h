// SPDX-License-Identifier: Apache-2.0
// A CUDA driver made of host memory that does not forgive.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "rekindle/base/mutex.h"
#include "rekindle/base/units.h"
#include "rekindle/device/cuda/driver_api.h"
#include "rekindle/device/cuda/driver_loader.h"
#include "tests/device/cuda/fake_memory.h"
#include "tests/device/cuda/fake_rules.h"
#include "tests/device/cuda/fake_work.h"

namespace rekindle::cuda {

// What calls take on the virtual clock.
struct FakeLatency {
  std::chrono::nanoseconds reserve{0};
  std::chrono::nanoseconds create{0};
  std::chrono::nanoseconds map{0};
  std::chrono::nanoseconds set_access{0};
  std::chrono::nanoseconds unmap{0};
  // Charges cuMemSetAccess for each mapping in the range instead of once.
  bool access_per_chunk = false;

  // Means of one published run on an A100 with chunks of 2 MiB
  // (ovg-project/kvcached, benchmarks/bench_vmm).
  static FakeLatency A100();
};

struct FakeDriverOptions {
  size_t memory = kGiB;           // in bytes
  size_t granularity = 2 * kMiB;  // in bytes; a power of two
  uint64_t seed = 1;              // of the order in which work runs
  FakeLatency latency = {};

  // Pageable host memory is read when a copy runs, not when it is queued, as
  // by a device that shares the host's page tables.
  bool reads_pageable_late = false;

  // What the machine lacks.
  bool library = true;
  bool stub = false;
  int version = 13000;
  std::vector<std::string> missing = {};  // entry points
  int devices = 1;                        // only the first has a context
  bool maps_memory = true;
  std::string name = "Fake GPU";
};

// What is still alive. All zero once everything was given back.
struct FakeLeaks {
  int64_t handles = 0;
  int64_t reservations = 0;
  int64_t mappings = 0;
  int64_t streams = 0;
  int64_t events = 0;
  int64_t context_references = 0;
  int64_t contexts_pushed = 0;  // on all threads together

  bool none() const;
  std::string ToString() const;
};

// As there is one driver in a process, there is one FakeDriver at a time.
//
// Each call is checked against the rules of the documentation. A breach gets
// the code that a real driver returns and is noted under the name of the rule;
// tests fail unless they take it (see fake_test.h). The rules are listed in
// fake_memory.h and fake_work.h; here are also: not-initialized,
// no-current-context, dead-context, pop-without-push, release-without-retain,
// vmm-in-capture, unmap-pending-work, copy-overlap, copy-null.
//
// Thread-safe; queued work runs under the lock and may not call the driver.
class FakeDriver {
 public:
  explicit FakeDriver(FakeDriverOptions options = {});
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  // The library to load; works as long as this object lives.
  DriverSource source();
  // The entry points themselves.
  DriverApi api() const;

  // Breaches so far that nobody took.
  std::vector<Violation> violations() const;
  // Takes all breaches of `rule`; false if there was none.
  bool TakeViolation(const std::string& rule);

  // Makes the n-th call of `entry` from now on (1 is the next) fail with
  // `result` before it does anything. An empty name means any entry point.
  void FailCall(const std::string& entry, int64_t n, Result result);
  // Forgets all failures still to come.
  void ClearFailures();
  // Calls so far, failed ones too; of all entry points if the name is empty.
  int64_t calls(const std::string& entry = "") const;
  // The entry point that was last made to fail, empty if none was.
  std::string last_failed() const;

  // The virtual clock; calls that fail take no time.
  std::chrono::nanoseconds now() const;

  // Queues a kernel: `run` on the host, over the device memory declared.
  Result Launch(StreamHandle stream, std::vector<FakeRange> ranges,
                std::function<void()> run);
  int64_t pending() const;
  // Runs up to `most` pieces of queued work.
  void RunSome(size_t most);
  // Loses the context, as a kernel that dies does.
  void Fault(Result fault);
  // Makes a lost context whole again, which no device can, so that a test can
  // go on to look for leaks.
  void Repair();

  Result BeginCapture(StreamHandle stream);
  Result EndCapture(StreamHandle stream);

  // Memory of the program, outside all reservations.
  DevicePointer AllocateForProgram(size_t bytes);
  // Declares host memory as pinned: copies touch it when they run.
  void Pin(const void* address, size_t bytes);

  size_t free_memory() const;  // in bytes
  FakeLeaks leaks() const;

 private:
  friend struct FakeEntryPoints;

  struct Failure {
    std::string entry;
    int64_t at = 0;
    Result result = Result::kSuccess;
  };

  struct State {
    explicit State(const FakeDriverOptions& options)
        : memory(options.memory, options.granularity, rules),
          work(options.seed, memory, rules) {}

    RuleBook rules;
    FakeMemory memory;
    FakeWork work;
    std::vector<Failure> failures;
    std::map<std::string, int64_t> calls;
    std::string last_failed;
    std::chrono::nanoseconds now{0};
    std::vector<std::pair<uintptr_t, size_t>> pinned;
    bool initialized = false;
    int64_t context_references = 0;
    int64_t contexts_pushed = 0;
  };

  // Counts a call and does what is asked for it: fails it, or runs `body`.
  template <typename Body>
  Result Call(const char* entry, Body body);
  // The same for calls that need the context.
  template <typename Body>
  Result ContextCall(const char* entry, Body body);
  // The same for those of virtual memory management.
  template <typename Body>
  Result MemoryCall(const char* entry, Body body);

  static Result InjectedOrSuccess(State& state, const std::string& entry);
  bool ContextIsCurrent() const;
  static bool IsPinned(const State& state, const void* address, size_t bytes);

  const FakeDriverOptions options_;
  const uint64_t
      generation_;  // tells this fake's threads from an earlier one's
  mutable Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rekindle::cuda
