// SPDX-License-Identifier: Apache-2.0
// The one seam for memory hardware. Everything above sees a Device and never
// names mmap or CUDA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/base/ids.h"

namespace rekindle {

// An address in the device's address space. It can be dereferenced by kernels
// of that device while mapped, and by nobody else.
using DeviceAddress = uintptr_t;

// Physical memory that can be mapped behind addresses.
using ChunkId = Id<struct ChunkTag>;

// A queue of work in order; the native handle of the device's API. The default
// stream is always there and has handle 0.
struct Stream {
  uintptr_t handle = 0;
  friend bool operator==(Stream a, Stream b) { return a.handle == b.handle; }
  friend bool operator!=(Stream a, Stream b) { return a.handle != b.handle; }
};

// A mark in a stream that other streams and the host can wait for.
struct Event {
  uintptr_t handle = 0;
};

// All in bytes. `created` is what chunks of this Device object take now and
// `peak_created` the most they ever took, as the device itself counts them.
struct MemoryInfo {
  size_t total = 0;
  size_t free = 0;
  size_t created = 0;
  size_t peak_created = 0;
};

// Counts since the device was opened.
struct DeviceCounters {
  int64_t create = 0;
  int64_t destroy = 0;
  int64_t map = 0;
  int64_t unmap = 0;
  int64_t synchronize = 0;  // times the host waited for a stream or an event
};

// Thread-safe. No verb changes anything when it fails.
//
// Common errors: InvalidArgument for a misaligned or unknown argument,
// ResourceExhausted where the device has no more of what was asked,
// FailedPrecondition for a wrong order (unmapping what is not mapped).
class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;

  // False for a device that only counts: kernels cannot run on it, copies move
  // nothing and reads give zeros.
  virtual bool holds_bytes() const = 0;

  // Size and alignment unit of chunks, mappings and reservations, in bytes; a
  // power of two.
  virtual size_t granularity() const = 0;

  virtual MemoryInfo memory_info() const = 0;
  virtual DeviceCounters counters() const = 0;

  // Addresses. ----------------------------------------------------------------

  // Sets aside `bytes` (a multiple of granularity) of addresses, aligned to
  // granularity, with nothing behind them: touching them traps.
  virtual absl::StatusOr<DeviceAddress> Reserve(size_t bytes) = 0;

  // Gives a whole reservation back. REQUIRES: exactly as reserved, unmapped.
  virtual absl::Status Release(DeviceAddress address, size_t bytes) = 0;

  // Physical memory. ----------------------------------------------------------

  // Takes `bytes` (a multiple of granularity) of memory. Contents undefined.
  virtual absl::StatusOr<ChunkId> Create(size_t bytes) = 0;

  // Gives a chunk back. REQUIRES: not mapped anywhere.
  virtual absl::Status Destroy(ChunkId chunk) = 0;

  // Puts `chunks` one after another behind the addresses from `address` on,
  // readable and writable, in one call for the whole range.
  // REQUIRES: the range lies in one reservation and is not mapped; each chunk
  // is mapped nowhere. Order: effective on return for work submitted later.
  virtual absl::Status Map(DeviceAddress address,
                           absl::Span<const ChunkId> chunks) = 0;

  // Takes the chunks away from the addresses; they keep their bytes.
  // REQUIRES: the range is made of whole mapped chunks, and no queued work
  // touches it.
  virtual absl::Status Unmap(DeviceAddress address, size_t bytes) = 0;

  // Says that no live block lies in the range (`MarkFree`) or that one does
  // from now on (`MarkUsed`); a device that can catch stray accesses does.
  // The range is mapped; Map leaves it used.
  virtual void MarkFree(DeviceAddress address, size_t bytes) = 0;
  virtual void MarkUsed(DeviceAddress address, size_t bytes) = 0;

  // Work on a stream, in its order. -------------------------------------------

  virtual absl::Status Copy(DeviceAddress to, DeviceAddress from, size_t bytes,
                            Stream stream) = 0;
  // The host memory may be used again on return.
  virtual absl::Status CopyFromHost(DeviceAddress to, const void* from,
                                    size_t bytes, Stream stream) = 0;
  // The host memory holds the bytes on return.
  virtual absl::Status CopyToHost(void* to, DeviceAddress from, size_t bytes,
                                  Stream stream) = 0;
  virtual absl::Status Fill(DeviceAddress address, uint8_t value, size_t bytes,
                            Stream stream) = 0;

  // Streams and events. -------------------------------------------------------

  virtual absl::StatusOr<Stream> CreateStream() = 0;
  // Waits for the stream's work, then ends it. REQUIRES: not the default one.
  virtual absl::Status DestroyStream(Stream stream) = 0;
  virtual absl::StatusOr<Event> CreateEvent() = 0;
  virtual absl::Status DestroyEvent(Event event) = 0;

  // The event happens when all work now in `stream` is done. An event never
  // recorded has happened.
  virtual absl::Status Record(Event event, Stream stream) = 0;
  // Later work of `stream` waits for the event as it was recorded last before
  // this call; to record it again changes nothing here. The host does not wait.
  virtual absl::Status StreamWait(Stream stream, Event event) = 0;
  virtual absl::StatusOr<bool> HasHappened(Event event) = 0;
  // The host waits.
  virtual absl::Status Synchronize(Stream stream) = 0;
};

}  // namespace rekindle
