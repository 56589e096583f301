// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/synchronous_device.h"

#include "rekindle/base/status_macros.h"

namespace rekindle {

MemoryInfo SynchronousDevice::memory_info() const {
  MutexLock lock(mutex_);
  return table_.memory_info();
}

DeviceCounters SynchronousDevice::counters() const {
  MutexLock lock(mutex_);
  return counters_;
}

absl::StatusOr<DeviceAddress> SynchronousDevice::Reserve(size_t bytes) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(table_.CheckReserve(bytes));
  RK_ASSIGN_OR_RETURN(const DeviceAddress address, DoReserve(bytes));
  table_.RecordReserve(address, bytes);
  return address;
}

absl::Status SynchronousDevice::Release(DeviceAddress address, size_t bytes) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(table_.CheckRelease(address, bytes));
  RK_RETURN_IF_ERROR(DoRelease(address, bytes));
  table_.RecordRelease(address);
  return absl::OkStatus();
}

absl::StatusOr<ChunkId> SynchronousDevice::Create(size_t bytes) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(table_.CheckCreate(bytes));
  RK_ASSIGN_OR_RETURN(const uint64_t backing, DoCreate(bytes));
  ++counters_.create;
  return table_.RecordCreate(bytes, backing);
}

absl::Status SynchronousDevice::Destroy(ChunkId chunk) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(table_.CheckDestroy(chunk));
  DoDestroy({table_.chunk(chunk).backing, table_.chunk(chunk).bytes});
  table_.RecordDestroy(chunk);
  ++counters_.destroy;
  return absl::OkStatus();
}

absl::Status SynchronousDevice::Map(DeviceAddress address,
                                    absl::Span<const ChunkId> chunks) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(table_.CheckMap(address, chunks));
  std::vector<Extent> extents;
  extents.reserve(chunks.size());
  for (const ChunkId chunk : chunks) {
    extents.push_back({table_.chunk(chunk).backing, table_.chunk(chunk).bytes});
  }
  RK_RETURN_IF_ERROR(DoMap(address, extents));
  table_.RecordMap(address, chunks);
  ++counters_.map;
  return absl::OkStatus();
}

absl::Status SynchronousDevice::Unmap(DeviceAddress address, size_t bytes) {
  MutexLock lock(mutex_);
  RK_ASSIGN_OR_RETURN(const int64_t chunks, table_.CheckUnmap(address, bytes));
  RK_RETURN_IF_ERROR(DoUnmap(address, bytes, chunks));
  table_.RecordUnmap(address, bytes);
  ++counters_.unmap;
  return absl::OkStatus();
}

absl::Status SynchronousDevice::CheckWork(Stream stream, DeviceAddress address,
                                          size_t bytes) const {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(streams_.CheckStream(stream));
  return table_.CheckAccess(address, bytes);
}

absl::Status SynchronousDevice::Copy(DeviceAddress to, DeviceAddress from,
                                     size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(CheckWork(stream, to, bytes));
  RK_RETURN_IF_ERROR(CheckWork(stream, from, bytes));
  DoCopy(to, from, bytes);
  return absl::OkStatus();
}

absl::Status SynchronousDevice::CopyFromHost(DeviceAddress to, const void* from,
                                             size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(CheckWork(stream, to, bytes));
  DoCopyFromHost(to, from, bytes);
  return absl::OkStatus();
}

absl::Status SynchronousDevice::CopyToHost(void* to, DeviceAddress from,
                                           size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(CheckWork(stream, from, bytes));
  DoCopyToHost(to, from, bytes);
  return absl::OkStatus();
}

absl::Status SynchronousDevice::Fill(DeviceAddress address, uint8_t value,
                                     size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(CheckWork(stream, address, bytes));
  DoFill(address, value, bytes);
  return absl::OkStatus();
}

absl::StatusOr<Stream> SynchronousDevice::CreateStream() {
  MutexLock lock(mutex_);
  return streams_.CreateStream();
}

absl::Status SynchronousDevice::DestroyStream(Stream stream) {
  MutexLock lock(mutex_);
  return streams_.DestroyStream(stream);
}

absl::StatusOr<Event> SynchronousDevice::CreateEvent() {
  MutexLock lock(mutex_);
  return streams_.CreateEvent();
}

absl::Status SynchronousDevice::DestroyEvent(Event event) {
  MutexLock lock(mutex_);
  return streams_.DestroyEvent(event);
}

absl::Status SynchronousDevice::Record(Event event, Stream stream) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(streams_.CheckEvent(event));
  return streams_.CheckStream(stream);
}

absl::Status SynchronousDevice::StreamWait(Stream stream, Event event) {
  return Record(event, stream);  // nothing is ever left to wait for
}

absl::StatusOr<bool> SynchronousDevice::HasHappened(Event event) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(streams_.CheckEvent(event));
  return true;
}

absl::Status SynchronousDevice::Synchronize(Stream stream) {
  MutexLock lock(mutex_);
  RK_RETURN_IF_ERROR(streams_.CheckStream(stream));
  ++counters_.synchronize;
  return absl::OkStatus();
}

void SynchronousDevice::CheckInvariants() const {
  MutexLock lock(mutex_);
  table_.CheckInvariants();
}

std::vector<std::pair<DeviceAddress, size_t>> SynchronousDevice::Reservations()
    const {
  MutexLock lock(mutex_);
  return {table_.reservations().begin(), table_.reservations().end()};
}

}  // namespace rekindle
