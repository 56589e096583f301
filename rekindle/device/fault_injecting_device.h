// SPDX-License-Identifier: Apache-2.0
// A decorator that makes chosen calls of another device fail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "rekindle/base/mutex.h"
#include "rekindle/device/device.h"

namespace rekindle {

// Forwards every verb to `device`, which must outlive it, except those that
// are told to fail: they return the given status and never reach the device.
// Thread-safe.
class FaultInjectingDevice : public Device {
 public:
  // The verbs that can fail. kAny stands for all of them.
  enum class Verb {
    kReserve,
    kRelease,
    kCreate,
    kDestroy,
    kMap,
    kUnmap,
    kCopy,
    kCopyFromHost,
    kCopyToHost,
    kFill,
    kCreateStream,
    kDestroyStream,
    kCreateEvent,
    kDestroyEvent,
    kRecord,
    kStreamWait,
    kHasHappened,
    kSynchronize,
    kAny,
  };

  explicit FaultInjectingDevice(Device& device) : device_(device) {}

  // Makes the n-th call of `verb` from now on (1 is the next) and the
  // `times - 1` calls after it fail with `status`. Adds to what was asked for
  // before. REQUIRES: n >= 1, times >= 1, `status` is an error.
  void FailCall(Verb verb, int64_t n, absl::Status status, int64_t times = 1);

  // Forgets all failures still to come.
  void Clear();

  // Calls of `verb` so far, failed ones too.
  int64_t calls(Verb verb) const;
  // Calls that were made to fail so far.
  int64_t failures() const;

  std::string name() const override { return device_.name(); }
  bool holds_bytes() const override { return device_.holds_bytes(); }
  size_t granularity() const override { return device_.granularity(); }
  MemoryInfo memory_info() const override { return device_.memory_info(); }
  DeviceCounters counters() const override { return device_.counters(); }

  absl::StatusOr<DeviceAddress> Reserve(size_t bytes) override;
  absl::Status Release(DeviceAddress address, size_t bytes) override;
  absl::StatusOr<ChunkId> Create(size_t bytes) override;
  absl::Status Destroy(ChunkId chunk) override;
  absl::Status Map(DeviceAddress address,
                   absl::Span<const ChunkId> chunks) override;
  absl::Status Unmap(DeviceAddress address, size_t bytes) override;
  void MarkFree(DeviceAddress address, size_t bytes) override;
  void MarkUsed(DeviceAddress address, size_t bytes) override;
  absl::Status Copy(DeviceAddress to, DeviceAddress from, size_t bytes,
                    Stream stream) override;
  absl::Status CopyFromHost(DeviceAddress to, const void* from, size_t bytes,
                            Stream stream) override;
  absl::Status CopyToHost(void* to, DeviceAddress from, size_t bytes,
                          Stream stream) override;
  absl::Status Fill(DeviceAddress address, uint8_t value, size_t bytes,
                    Stream stream) override;
  absl::StatusOr<Stream> CreateStream() override;
  absl::Status DestroyStream(Stream stream) override;
  absl::StatusOr<Event> CreateEvent() override;
  absl::Status DestroyEvent(Event event) override;
  absl::Status Record(Event event, Stream stream) override;
  absl::Status StreamWait(Stream stream, Event event) override;
  absl::StatusOr<bool> HasHappened(Event event) override;
  absl::Status Synchronize(Stream stream) override;

 private:
  static constexpr size_t kVerbs = static_cast<size_t>(Verb::kAny) + 1;

  // Calls `first` to `last` of a verb fail, counted since construction.
  struct Fault {
    Verb verb;
    int64_t first;
    int64_t last;
    absl::Status status;
  };

  // Counts a call of `verb`; the status it is to fail with, or OK.
  absl::Status Count(Verb verb);

  Device& device_;
  mutable Mutex mutex_;
  std::array<int64_t, kVerbs> calls_ ABSL_GUARDED_BY(mutex_) = {};
  int64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Fault> faults_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rekindle
