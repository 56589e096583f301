// SPDX-License-Identifier: Apache-2.0
// Real memory of this machine behind the Device contract: a CPU has virtual
// memory management too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rekindle/base/units.h"
#include "rekindle/device/host/extent_file.h"
#include "rekindle/device/synchronous_device.h"

namespace rekindle {

struct HostDeviceOptions {
  // The most bytes that chunks may take; rounded down to `granularity`.
  // 0: all the memory of the machine, or of the container; what others have of
  // it when the device is opened does not count as free.
  size_t capacity = 0;

  // A power of two and a multiple of the page size (4 KiB here). Large ones
  // make fewer mappings, of which Linux allows 65,530 a process.
  size_t granularity = 64 * kKiB;

  // Overwrites blocks when they are freed and again when they are given out,
  // so that a program that reads stale or fresh bytes gets wrong numbers every
  // time and not only sometimes. Costs a pass over the bytes: for tests.
  bool poison = false;
};

// Chunks are extents of one memfd, address ranges are inaccessible mappings,
// and mapping a chunk is a shared mapping over them: touching an address with
// nothing behind it is a SIGSEGV. Physical pages are taken on first touch.
// Built with AddressSanitizer, freed blocks are poisoned.
//
// Streams are synchronous: a verb has done its work when it returns, and every
// event has happened. Kernels run on the calling thread.
class HostDevice : public SynchronousDevice {
 public:
  // What `poison` writes over freed bytes and over fresh ones.
  static constexpr uint8_t kFreedByte = 0xCD;
  static constexpr uint8_t kFreshByte = 0xDB;

  // Errors: InvalidArgument for an option out of range, Unavailable where the
  // system has no memfd.
  static absl::StatusOr<std::unique_ptr<HostDevice>> Open(
      const HostDeviceOptions& options);

  // Gives back whatever was not.
  ~HostDevice() override;

  std::string name() const override { return "host"; }
  bool holds_bytes() const override { return true; }
  MemoryInfo memory_info() const override;
  void MarkFree(DeviceAddress address, size_t bytes) override;
  void MarkUsed(DeviceAddress address, size_t bytes) override;

 protected:
  absl::StatusOr<DeviceAddress> DoReserve(size_t bytes) override;
  absl::Status DoRelease(DeviceAddress address, size_t bytes) override;
  absl::StatusOr<uint64_t> DoCreate(size_t bytes) override;
  void DoDestroy(Extent extent) override;
  absl::Status DoMap(DeviceAddress address,
                     absl::Span<const Extent> extents) override;
  absl::Status DoUnmap(DeviceAddress address, size_t bytes,
                       int64_t chunks) override;
  void DoCopy(DeviceAddress to, DeviceAddress from, size_t bytes) override;
  void DoCopyFromHost(DeviceAddress to, const void* from,
                      size_t bytes) override;
  void DoCopyToHost(void* to, DeviceAddress from, size_t bytes) override;
  void DoFill(DeviceAddress address, uint8_t value, size_t bytes) override;

 private:
  HostDevice(const HostDeviceOptions& options, size_t available,
             std::unique_ptr<ExtentFile> file)
      : SynchronousDevice(options.capacity, options.granularity),
        available_(available),
        poison_(options.poison),
        file_(std::move(file)) {}

  const size_t available_;  // when it was opened
  const bool poison_;
  const std::unique_ptr<ExtentFile> file_;
};

}  // namespace rekindle
