// SPDX-License-Identifier: Apache-2.0
// The CUDA backend. Needs no CUDA toolkit: the driver comes at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "rekindle/base/log.h"
#include "rekindle/base/mutex.h"
#include "rekindle/device/cuda/driver_loader.h"
#include "rekindle/device/cuda/probe.h"
#include "rekindle/device/cuda/session.h"
#include "rekindle/device/cuda/streams.h"
#include "rekindle/device/device.h"
#include "rekindle/device/mapping_table.h"

namespace rekindle {

// Opens GPU number `ordinal`, counted as the CUDA runtime counts.
// Errors: Unavailable, with the reason and what to do, if there is none.
absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal);

// One GPU through the virtual memory management of the CUDA driver. Chunks are
// allocation handles of the device's own memory, never shared with another
// process; each is mapped whole.
//
// Streams. Handle 0 is the legacy stream of the primary context, so that it
// means the same to our copies and to a kernel that the program launches with
// it. It waits for streams of the program that are not non-blocking, and they
// for it; streams of CreateStream do neither: order them by events. Any handle
// not known here is taken as a stream of the program, which must be alive.
// (A program compiled for per-thread default streams passes its own.)
//
// Host memory may be pageable or pinned. Both copies wait for the stream:
// whether the driver reads pageable memory before it returns is not promised.
// If that wait fails, the copy may still run.
//
// While a stream is captured into a graph the memory verbs fail with
// FailedPrecondition, as far as Streams::CheckNotCapturing sees it.
//
// An error of queued work that the context does not survive (a bad address in
// a kernel, for one) is Internal, and every later verb returns it again. If an
// unmap that takes back a failed Map fails as well, the device is lost too.
class CudaDevice : public Device {
 public:
  // As OpenCudaDevice, with a driver from `source`; `log` is for warnings.
  static absl::StatusOr<std::unique_ptr<CudaDevice>> Open(
      int ordinal, const cuda::DriverSource& source, Log log = Log());

  // Waits for all work of the context, then gives back whatever was not.
  ~CudaDevice() override;

  const cuda::GpuInfo& gpu() const { return gpu_; }

  std::string name() const override;
  bool holds_bytes() const override { return true; }
  size_t granularity() const override { return gpu_.granularity; }
  // `free` is what the driver says, of all processes; 0 if it does not answer.
  MemoryInfo memory_info() const override;
  DeviceCounters counters() const override;

  absl::StatusOr<DeviceAddress> Reserve(size_t bytes) override;
  absl::Status Release(DeviceAddress address, size_t bytes) override;
  absl::StatusOr<ChunkId> Create(size_t bytes) override;
  absl::Status Destroy(ChunkId chunk) override;
  absl::Status Map(DeviceAddress address,
                   absl::Span<const ChunkId> chunks) override;
  absl::Status Unmap(DeviceAddress address, size_t bytes) override;
  void MarkFree(DeviceAddress, size_t) override {}
  void MarkUsed(DeviceAddress, size_t) override {}

  // REQUIRES: the ranges do not overlap.
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

 private:
  struct Extent {
    cuda::AllocationHandle handle = 0;
    size_t bytes = 0;
  };

  CudaDevice(const cuda::GpuInfo& gpu, std::unique_ptr<cuda::Session> session);

  absl::StatusOr<std::vector<Extent>> CheckMap(
      DeviceAddress address, absl::Span<const ChunkId> chunks);
  // The driver's part of Map: all of it, or nothing.
  absl::Status MapAll(const cuda::CallScope& scope, DeviceAddress address,
                      size_t bytes, absl::Span<const Extent> extents);
  absl::Status CheckWork(Stream stream, DeviceAddress address,
                         size_t bytes) const;
  // Waits for the stream, and counts that.
  absl::Status Wait(const cuda::CallScope& scope, Stream stream);
  // For a copy from or to host memory: also after an error it is not queued.
  absl::Status WaitForCopy(const cuda::CallScope& scope, Stream stream);

  const cuda::GpuInfo gpu_;
  const std::unique_ptr<cuda::Session> session_;
  cuda::Streams streams_;
  // Held through a memory verb, driver calls and all; taken before mutex_.
  // The driver does them one at a time anyway.
  Mutex memory_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  // Never held in a driver call, so that work is not queued behind mapping.
  mutable Mutex mutex_;
  MappingTable table_ ABSL_GUARDED_BY(mutex_);
  DeviceCounters counters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rekindle
