// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/host/host_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/device/host/system_memory.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address))
#endif

namespace rekindle {
namespace {

constexpr int kInaccessible = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* Pointer(DeviceAddress address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

size_t PageSize() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

absl::Status SystemError(absl::string_view verb, size_t bytes) {
  const int error = errno;
  const std::string what = absl::StrCat(verb, " of ", FormatBytes(bytes), ": ",
                                        std::strerror(error));
  if (error != ENOMEM) return absl::InternalError(what);
  return absl::ResourceExhaustedError(absl::StrCat(
      what,
      "; the process may be out of mappings (see vm.max_map_count, usually "
      "65530) or of address space (see ulimit -v); a larger granularity needs "
      "fewer mappings"));
}

// Makes the addresses inaccessible, whatever was there. A process that is out
// of mappings cannot even replace one by another, but can forbid its use.
absl::Status Seal(absl::string_view verb, DeviceAddress address, size_t bytes) {
  void* const mapped = mmap(Pointer(address), bytes, PROT_NONE,
                            kInaccessible | MAP_FIXED, -1, 0);
  if (mapped != MAP_FAILED) return absl::OkStatus();
  absl::Status error = SystemError(verb, bytes);
  if (mprotect(Pointer(address), bytes, PROT_NONE) == 0) {
    return absl::OkStatus();
  }
  return error;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HostDevice>> HostDevice::Open(
    const HostDeviceOptions& options) {
  const size_t granularity = options.granularity;
  if (granularity == 0 || (granularity & (granularity - 1)) != 0 ||
      granularity % PageSize() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("granularity ", granularity,
                     " is not a power of two and a multiple of the page size, ",
                     PageSize()));
  }
  HostDeviceOptions rounded = options;
  size_t available = std::numeric_limits<size_t>::max();
  if (rounded.capacity == 0) {
    const SystemMemory memory = ReadSystemMemory();
    rounded.capacity = memory.total;
    available = memory.available;
  }
  rounded.capacity = RoundDown(rounded.capacity, granularity);
  if (rounded.capacity == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("capacity ", options.capacity,
                     " is less than one chunk of ", granularity));
  }
  RK_ASSIGN_OR_RETURN(std::unique_ptr<ExtentFile> file, ExtentFile::Create());
  return absl::WrapUnique(new HostDevice(rounded, available, std::move(file)));
}

MemoryInfo HostDevice::memory_info() const {
  MemoryInfo info = SynchronousDevice::memory_info();
  const size_t left = available_ - std::min(available_, info.created);
  info.free = std::min(info.free, left);
  return info;
}

HostDevice::~HostDevice() {
  for (const auto& [address, bytes] : Reservations()) {
    ASAN_UNPOISON_MEMORY_REGION(Pointer(address), bytes);
    munmap(Pointer(address), bytes);
  }
}

void HostDevice::MarkFree(DeviceAddress address, size_t bytes) {
  if (poison_) {
    ASAN_UNPOISON_MEMORY_REGION(Pointer(address), bytes);
    std::memset(Pointer(address), kFreedByte, bytes);
  }
  ASAN_POISON_MEMORY_REGION(Pointer(address), bytes);
}

void HostDevice::MarkUsed(DeviceAddress address, size_t bytes) {
  ASAN_UNPOISON_MEMORY_REGION(Pointer(address), bytes);
  if (poison_) std::memset(Pointer(address), kFreshByte, bytes);
}

absl::StatusOr<DeviceAddress> HostDevice::DoReserve(size_t bytes) {
  // mmap aligns to pages: take more and cut off both ends.
  const size_t slack = granularity() - PageSize();
  if (bytes + slack < bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no address range has ", bytes, " bytes"));
  }
  void* const mapped =
      mmap(nullptr, bytes + slack, PROT_NONE, kInaccessible, -1, 0);
  if (mapped == MAP_FAILED) return SystemError("reservation", bytes);
  const auto start = reinterpret_cast<DeviceAddress>(mapped);
  const DeviceAddress address = RoundUp(start, granularity());
  const size_t before = address - start;
  if (before > 0) munmap(mapped, before);
  if (slack > before) munmap(Pointer(address + bytes), slack - before);
  return address;
}

absl::Status HostDevice::DoRelease(DeviceAddress address, size_t bytes) {
  if (munmap(Pointer(address), bytes) == 0) return absl::OkStatus();
  return SystemError("release", bytes);
}

absl::StatusOr<uint64_t> HostDevice::DoCreate(size_t bytes) {
  return file_->Take(bytes);
}

void HostDevice::DoDestroy(Extent extent) {
  file_->Give(extent.backing, extent.bytes);
}

absl::Status HostDevice::DoMap(DeviceAddress address,
                               absl::Span<const Extent> extents) {
  DeviceAddress at = address;
  for (size_t i = 0; i < extents.size();) {
    const uint64_t offset = extents[i].backing;
    size_t bytes = 0;
    for (; i < extents.size() && extents[i].backing == offset + bytes; ++i) {
      bytes += extents[i].bytes;
    }
    if (mmap(Pointer(at), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             file_->descriptor(), static_cast<off_t>(offset)) == MAP_FAILED) {
      absl::Status error = SystemError("map", bytes);
      if (at > address) Seal("unmap", address, at - address).IgnoreError();
      return error;
    }
    at += bytes;
  }
  ASAN_UNPOISON_MEMORY_REGION(Pointer(address), at - address);
  return absl::OkStatus();
}

absl::Status HostDevice::DoUnmap(DeviceAddress address, size_t bytes,
                                 int64_t /*chunks*/) {
  RK_RETURN_IF_ERROR(Seal("unmap", address, bytes));
  ASAN_UNPOISON_MEMORY_REGION(Pointer(address), bytes);
  return absl::OkStatus();
}

void HostDevice::DoCopy(DeviceAddress to, DeviceAddress from, size_t bytes) {
  if (bytes > 0) std::memmove(Pointer(to), Pointer(from), bytes);
}

void HostDevice::DoCopyFromHost(DeviceAddress to, const void* from,
                                size_t bytes) {
  if (bytes > 0) std::memcpy(Pointer(to), from, bytes);
}

void HostDevice::DoCopyToHost(void* to, DeviceAddress from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, Pointer(from), bytes);
}

void HostDevice::DoFill(DeviceAddress address, uint8_t value, size_t bytes) {
  if (bytes > 0) std::memset(Pointer(address), value, bytes);
}

}  // namespace rekindle
