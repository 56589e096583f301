// SPDX-License-Identifier: Apache-2.0
// A Device whose work is done when its verb returns: everything but the
// hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "rekindle/base/mutex.h"
#include "rekindle/device/device.h"
#include "rekindle/device/mapping_table.h"
#include "rekindle/device/stream_table.h"

namespace rekindle {

// Checks every verb against the contract, has the backend do it, and records
// it. A backend (host, counting) is the hooks below; they see only calls that
// keep the contract and change nothing when they fail.
class SynchronousDevice : public Device {
 public:
  size_t granularity() const override { return granularity_; }
  MemoryInfo memory_info() const override;
  DeviceCounters counters() const override;

  absl::StatusOr<DeviceAddress> Reserve(size_t bytes) override;
  absl::Status Release(DeviceAddress address, size_t bytes) override;
  absl::StatusOr<ChunkId> Create(size_t bytes) override;
  absl::Status Destroy(ChunkId chunk) override;
  absl::Status Map(DeviceAddress address,
                   absl::Span<const ChunkId> chunks) override;
  absl::Status Unmap(DeviceAddress address, size_t bytes) override;

  // Ranges outside all reservations are the program's own memory: not checked.
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

  // Aborts unless all bookkeeping agrees. Slow; for tests.
  void CheckInvariants() const;

 protected:
  // Where one chunk's bytes are, in the backend's terms.
  struct Extent {
    uint64_t backing = 0;
    size_t bytes = 0;
  };

  SynchronousDevice(size_t capacity, size_t granularity)
      : granularity_(granularity), table_(capacity, granularity) {}

  // The memory verbs. Called with the lock held, one at a time.
  virtual absl::StatusOr<DeviceAddress> DoReserve(size_t bytes) = 0;
  virtual absl::Status DoRelease(DeviceAddress address, size_t bytes) = 0;
  virtual absl::StatusOr<uint64_t> DoCreate(size_t bytes) = 0;
  virtual void DoDestroy(Extent extent) = 0;
  virtual absl::Status DoMap(DeviceAddress address,
                             absl::Span<const Extent> extents) = 0;
  virtual absl::Status DoUnmap(DeviceAddress address, size_t bytes,
                               int64_t chunks) = 0;

  // The bytes. Called without the lock, by any number of threads.
  virtual void DoCopy(DeviceAddress to, DeviceAddress from, size_t bytes) = 0;
  virtual void DoCopyFromHost(DeviceAddress to, const void* from,
                              size_t bytes) = 0;
  virtual void DoCopyToHost(void* to, DeviceAddress from, size_t bytes) = 0;
  virtual void DoFill(DeviceAddress address, uint8_t value, size_t bytes) = 0;

  // Every reservation still there; for destructors.
  std::vector<std::pair<DeviceAddress, size_t>> Reservations() const;

 private:
  absl::Status CheckWork(Stream stream, DeviceAddress address,
                         size_t bytes) const;

  const size_t granularity_;
  mutable Mutex mutex_;
  MappingTable table_ ABSL_GUARDED_BY(mutex_);
  StreamTable streams_ ABSL_GUARDED_BY(mutex_);
  DeviceCounters counters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rekindle
