// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/cuda/cuda_device.h"

#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

using cuda::CallScope;
using cuda::ToDriver;

// More than any device can address (57 bits). Drivers differ in what they say
// to such a reservation.
constexpr size_t kAllAddresses = size_t{1} << 57;

absl::Status CannotOpen(int ordinal, const absl::Status& why) {
  return absl::UnavailableError(
      absl::StrCat("cannot open cuda:", ordinal, ": ", why.message()));
}

absl::StatusOr<cuda::GpuInfo> Find(const cuda::DriverApi& api, int ordinal) {
  RK_ASSIGN_OR_RETURN(const int count, cuda::CountDevices(api));
  if (ordinal < 0 || ordinal >= count) {
    return cuda::ToStatus(cuda::NoSuchDevice(ordinal, count));
  }
  RK_ASSIGN_OR_RETURN(cuda::GpuInfo gpu, cuda::Inspect(api, ordinal));
  RK_RETURN_IF_ERROR(cuda::ToStatus(cuda::ProblemOf(gpu)));
  if (gpu.granularity == 0 || (gpu.granularity & (gpu.granularity - 1)) != 0) {
    return absl::InternalError(absl::StrCat(
        "the driver's granularity is no power of two: ", gpu.granularity));
  }
  return gpu;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenCudaDevice(int ordinal) {
  RK_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                      CudaDevice::Open(ordinal, cuda::DriverLibrary()));
  return device;
}

absl::StatusOr<std::unique_ptr<CudaDevice>> CudaDevice::Open(
    int ordinal, const cuda::DriverSource& source, Log log) {
  const cuda::LoadedDriver driver = cuda::LoadDriver(source);
  const absl::Status loaded = cuda::ToStatus(driver.problem);
  if (!loaded.ok()) return CannotOpen(ordinal, loaded);
  const absl::StatusOr<cuda::GpuInfo> gpu = Find(driver.api, ordinal);
  if (!gpu.ok()) return CannotOpen(ordinal, gpu.status());
  absl::StatusOr<std::unique_ptr<cuda::Session>> session =
      cuda::Session::Open(driver.api, gpu->device, log);
  if (!session.ok()) return CannotOpen(ordinal, session.status());
  return absl::WrapUnique(new CudaDevice(*gpu, *std::move(session)));
}

CudaDevice::CudaDevice(const cuda::GpuInfo& gpu,
                       std::unique_ptr<cuda::Session> session)
    : gpu_(gpu),
      session_(std::move(session)),
      streams_(*session_),
      table_(gpu.memory, gpu.granularity) {}

CudaDevice::~CudaDevice() {
  const cuda::ContextGuard guard(*session_);
  if (guard.result() != cuda::Result::kSuccess) return;  // the driver has gone
  const cuda::DriverApi& api = session_->api();
  api.cuCtxSynchronize();
  MutexLock lock(mutex_);
  for (const auto& [id, chunk] : table_.chunks()) {
    if (chunk.address != 0) api.cuMemUnmap(chunk.address, chunk.bytes);
    api.cuMemRelease(chunk.backing);
  }
  for (const auto& [address, bytes] : table_.reservations()) {
    api.cuMemAddressFree(address, bytes);
  }
}

std::string CudaDevice::name() const {
  return absl::StrCat("cuda:", gpu_.ordinal);
}

MemoryInfo CudaDevice::memory_info() const {
  MemoryInfo info;
  {
    MutexLock lock(mutex_);
    info = table_.memory_info();
  }
  info.free = 0;
  const CallScope scope(*session_, "memory info");
  size_t free = 0;
  size_t total = 0;
  if (scope.status().ok() &&
      scope.Check(scope.api().cuMemGetInfo(&free, &total), "cuMemGetInfo")
          .ok()) {
    info.free = free;
    info.total = total;
  }
  return info;
}

DeviceCounters CudaDevice::counters() const {
  MutexLock lock(mutex_);
  return counters_;
}

// Memory. ---------------------------------------------------------------------

absl::StatusOr<DeviceAddress> CudaDevice::Reserve(size_t bytes) {
  MutexLock memory_lock(memory_mutex_);
  {
    MutexLock lock(mutex_);
    RK_RETURN_IF_ERROR(table_.CheckReserve(bytes));
  }
  if (bytes >= kAllAddresses) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no address range has ", bytes, " bytes"));
  }
  const CallScope scope(*session_, "reservation", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(streams_.CheckNotCapturing(scope));
  cuda::DevicePointer address = 0;
  RK_RETURN_IF_ERROR(
      scope.Check(scope.api().cuMemAddressReserve(
                      &address, bytes, granularity(), /*hint=*/0, /*flags=*/0),
                  "cuMemAddressReserve"));
  MutexLock lock(mutex_);
  table_.RecordReserve(address, bytes);
  return address;
}

absl::Status CudaDevice::Release(DeviceAddress address, size_t bytes) {
  MutexLock memory_lock(memory_mutex_);
  {
    MutexLock lock(mutex_);
    RK_RETURN_IF_ERROR(table_.CheckRelease(address, bytes));
  }
  const CallScope scope(*session_, "release", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(streams_.CheckNotCapturing(scope));
  RK_RETURN_IF_ERROR(scope.Check(scope.api().cuMemAddressFree(address, bytes),
                                 "cuMemAddressFree"));
  MutexLock lock(mutex_);
  table_.RecordRelease(address);
  return absl::OkStatus();
}

absl::StatusOr<ChunkId> CudaDevice::Create(size_t bytes) {
  MutexLock memory_lock(memory_mutex_);
  {
    MutexLock lock(mutex_);
    RK_RETURN_IF_ERROR(table_.CheckCreate(bytes));
  }
  const CallScope scope(*session_, "chunk", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(streams_.CheckNotCapturing(scope));
  const cuda::AllocationProperties properties =
      cuda::DeviceMemory(session_->device());
  cuda::AllocationHandle handle = 0;
  RK_RETURN_IF_ERROR(scope.Check(
      scope.api().cuMemCreate(&handle, bytes, &properties, /*flags=*/0),
      "cuMemCreate"));
  MutexLock lock(mutex_);
  ++counters_.create;
  return table_.RecordCreate(bytes, handle);
}

absl::Status CudaDevice::Destroy(ChunkId chunk) {
  MutexLock memory_lock(memory_mutex_);
  Extent extent;
  {
    MutexLock lock(mutex_);
    RK_RETURN_IF_ERROR(table_.CheckDestroy(chunk));
    extent = {table_.chunk(chunk).backing, table_.chunk(chunk).bytes};
  }
  const CallScope scope(*session_, "end of a chunk", extent.bytes);
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(streams_.CheckNotCapturing(scope));
  RK_RETURN_IF_ERROR(
      scope.Check(scope.api().cuMemRelease(extent.handle), "cuMemRelease"));
  MutexLock lock(mutex_);
  table_.RecordDestroy(chunk);
  ++counters_.destroy;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<CudaDevice::Extent>> CudaDevice::CheckMap(
    DeviceAddress address, absl::Span<const ChunkId> chunks) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(table_.CheckMap(address, chunks));
  std::vector<Extent> extents;
  extents.reserve(chunks.size());
  for (const ChunkId id : chunks) {
    extents.push_back({table_.chunk(id).backing, table_.chunk(id).bytes});
  }
  return extents;
}

absl::Status CudaDevice::Map(DeviceAddress address,
                             absl::Span<const ChunkId> chunks) {
  MutexLock memory_lock(memory_mutex_);
  RK_ASSIGN_OR_RETURN(const std::vector<Extent> extents,
                      CheckMap(address, chunks));
  size_t bytes = 0;
  for (const Extent& extent : extents) bytes += extent.bytes;
  const CallScope scope(*session_, "map", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(streams_.CheckNotCapturing(scope));
  RK_RETURN_IF_ERROR(MapAll(scope, address, bytes, extents));
  MutexLock lock(mutex_);
  table_.RecordMap(address, chunks);
  ++counters_.map;
  return absl::OkStatus();
}

absl::Status CudaDevice::MapAll(const CallScope& scope, DeviceAddress address,
                                size_t bytes,
                                absl::Span<const Extent> extents) {
  size_t mapped = 0;  // how many extents are
  DeviceAddress end = address;
  auto unwind = absl::MakeCleanup([&] {
    for (; mapped > 0; --mapped) {
      end -= extents[mapped - 1].bytes;
      const absl::Status status = scope.Check(
          scope.api().cuMemUnmap(end, extents[mapped - 1].bytes), "cuMemUnmap");
      if (!status.ok()) session_->SetLost(status);
    }
  });
  for (const Extent& extent : extents) {
    RK_RETURN_IF_ERROR(
        scope.Check(scope.api().cuMemMap(end, extent.bytes, /*offset=*/0,
                                         extent.handle, /*flags=*/0),
                    "cuMemMap"));
    end += extent.bytes;
    ++mapped;
  }
  cuda::AccessDescription access;
  access.location = {cuda::LocationType::kDevice, session_->device()};
  access.flags = cuda::AccessFlags::kReadWrite;
  RK_RETURN_IF_ERROR(
      scope.Check(scope.api().cuMemSetAccess(address, bytes, &access, 1),
                  "cuMemSetAccess"));
  std::move(unwind).Cancel();
  return absl::OkStatus();
}

// One call for all the chunks: all of them, or an error and none.
absl::Status CudaDevice::Unmap(DeviceAddress address, size_t bytes) {
  MutexLock memory_lock(memory_mutex_);
  {
    MutexLock lock(mutex_);
    RK_RETURN_IF_ERROR(table_.CheckUnmap(address, bytes).status());
  }
  const CallScope scope(*session_, "unmap", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(streams_.CheckNotCapturing(scope));
  RK_RETURN_IF_ERROR(
      scope.Check(scope.api().cuMemUnmap(address, bytes), "cuMemUnmap"));
  MutexLock lock(mutex_);
  table_.RecordUnmap(address, bytes);
  ++counters_.unmap;
  return absl::OkStatus();
}

// Work. -----------------------------------------------------------------------

absl::Status CudaDevice::CheckWork(Stream stream, DeviceAddress address,
                                   size_t bytes) const {
  RK_RETURN_IF_ERROR(streams_.CheckStream(stream));
  MutexLock lock(mutex_);
  return table_.CheckAccess(address, bytes);
}

absl::Status CudaDevice::Wait(const CallScope& scope, Stream stream) {
  {
    MutexLock lock(mutex_);
    ++counters_.synchronize;
  }
  return scope.Check(scope.api().cuStreamSynchronize(ToDriver(stream)),
                     "cuStreamSynchronize");
}

absl::Status CudaDevice::WaitForCopy(const CallScope& scope, Stream stream) {
  const absl::Status status = Wait(scope, stream);
  // The host memory is the caller's again, and the copy may still be queued. A
  // device that fails twice has lost its context and copies nothing.
  if (!status.ok()) scope.api().cuStreamSynchronize(ToDriver(stream));
  return status;
}

absl::Status CudaDevice::Copy(DeviceAddress to, DeviceAddress from,
                              size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(CheckWork(stream, to, bytes));
  RK_RETURN_IF_ERROR(CheckWork(stream, from, bytes));
  if (bytes == 0) return absl::OkStatus();
  const CallScope scope(*session_, "copy", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  return scope.Check(
      scope.api().cuMemcpyDtoDAsync(to, from, bytes, ToDriver(stream)),
      "cuMemcpyDtoDAsync");
}

absl::Status CudaDevice::CopyFromHost(DeviceAddress to, const void* from,
                                      size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(CheckWork(stream, to, bytes));
  if (bytes == 0) return absl::OkStatus();
  const CallScope scope(*session_, "copy from the host", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(scope.Check(
      scope.api().cuMemcpyHtoDAsync(to, from, bytes, ToDriver(stream)),
      "cuMemcpyHtoDAsync"));
  return WaitForCopy(scope, stream);
}

absl::Status CudaDevice::CopyToHost(void* to, DeviceAddress from, size_t bytes,
                                    Stream stream) {
  RK_RETURN_IF_ERROR(CheckWork(stream, from, bytes));
  if (bytes == 0) return absl::OkStatus();
  const CallScope scope(*session_, "copy to the host", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(scope.Check(
      scope.api().cuMemcpyDtoHAsync(to, from, bytes, ToDriver(stream)),
      "cuMemcpyDtoHAsync"));
  return WaitForCopy(scope, stream);
}

absl::Status CudaDevice::Fill(DeviceAddress address, uint8_t value,
                              size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(CheckWork(stream, address, bytes));
  if (bytes == 0) return absl::OkStatus();
  const CallScope scope(*session_, "fill", bytes);
  RK_RETURN_IF_ERROR(scope.status());
  return scope.Check(
      scope.api().cuMemsetD8Async(address, value, bytes, ToDriver(stream)),
      "cuMemsetD8Async");
}

// Streams and events. ---------------------------------------------------------

absl::StatusOr<Stream> CudaDevice::CreateStream() {
  return streams_.CreateStream();
}

absl::Status CudaDevice::DestroyStream(Stream stream) {
  RK_RETURN_IF_ERROR(streams_.DestroyStream(stream));
  MutexLock lock(mutex_);
  ++counters_.synchronize;
  return absl::OkStatus();
}

absl::StatusOr<Event> CudaDevice::CreateEvent() {
  return streams_.CreateEvent();
}

absl::Status CudaDevice::DestroyEvent(Event event) {
  return streams_.DestroyEvent(event);
}

absl::Status CudaDevice::Record(Event event, Stream stream) {
  return streams_.Record(event, stream);
}

absl::Status CudaDevice::StreamWait(Stream stream, Event event) {
  return streams_.StreamWait(stream, event);
}

absl::StatusOr<bool> CudaDevice::HasHappened(Event event) {
  return streams_.HasHappened(event);
}

absl::Status CudaDevice::Synchronize(Stream stream) {
  RK_RETURN_IF_ERROR(streams_.CheckStream(stream));
  const CallScope scope(*session_, "wait for a stream");
  RK_RETURN_IF_ERROR(scope.status());
  return Wait(scope, stream);
}

void CudaDevice::CheckInvariants() const {
  MutexLock lock(mutex_);
  table_.CheckInvariants();
}

}  // namespace rekindle
