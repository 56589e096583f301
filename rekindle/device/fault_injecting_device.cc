// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/fault_injecting_device.h"

#include <utility>

#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {

void FaultInjectingDevice::FailCall(Verb verb, int64_t n, absl::Status status,
                                    int64_t times) {
  RK_CHECK(n >= 1 && times >= 1, "calls are counted from 1");
  RK_CHECK(!status.ok(), "a call fails with an error");
  MutexLock lock(mutex_);
  const int64_t first = calls_[static_cast<size_t>(verb)] + n;
  faults_.push_back({verb, first, first + times - 1, std::move(status)});
}

void FaultInjectingDevice::Clear() {
  MutexLock lock(mutex_);
  faults_.clear();
}

int64_t FaultInjectingDevice::calls(Verb verb) const {
  MutexLock lock(mutex_);
  return calls_[static_cast<size_t>(verb)];
}

int64_t FaultInjectingDevice::failures() const {
  MutexLock lock(mutex_);
  return failures_;
}

absl::Status FaultInjectingDevice::Count(Verb verb) {
  MutexLock lock(mutex_);
  ++calls_[static_cast<size_t>(verb)];
  ++calls_[static_cast<size_t>(Verb::kAny)];
  for (const Fault& fault : faults_) {
    if (fault.verb != verb && fault.verb != Verb::kAny) continue;
    const int64_t call = calls_[static_cast<size_t>(fault.verb)];
    if (call < fault.first || call > fault.last) continue;
    ++failures_;
    return fault.status;
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceAddress> FaultInjectingDevice::Reserve(size_t bytes) {
  RK_RETURN_IF_ERROR(Count(Verb::kReserve));
  return device_.Reserve(bytes);
}

absl::Status FaultInjectingDevice::Release(DeviceAddress address,
                                           size_t bytes) {
  RK_RETURN_IF_ERROR(Count(Verb::kRelease));
  return device_.Release(address, bytes);
}

absl::StatusOr<ChunkId> FaultInjectingDevice::Create(size_t bytes) {
  RK_RETURN_IF_ERROR(Count(Verb::kCreate));
  return device_.Create(bytes);
}

absl::Status FaultInjectingDevice::Destroy(ChunkId chunk) {
  RK_RETURN_IF_ERROR(Count(Verb::kDestroy));
  return device_.Destroy(chunk);
}

absl::Status FaultInjectingDevice::Map(DeviceAddress address,
                                       absl::Span<const ChunkId> chunks) {
  RK_RETURN_IF_ERROR(Count(Verb::kMap));
  return device_.Map(address, chunks);
}

absl::Status FaultInjectingDevice::Unmap(DeviceAddress address, size_t bytes) {
  RK_RETURN_IF_ERROR(Count(Verb::kUnmap));
  return device_.Unmap(address, bytes);
}

void FaultInjectingDevice::MarkFree(DeviceAddress address, size_t bytes) {
  device_.MarkFree(address, bytes);
}

void FaultInjectingDevice::MarkUsed(DeviceAddress address, size_t bytes) {
  device_.MarkUsed(address, bytes);
}

absl::Status FaultInjectingDevice::Copy(DeviceAddress to, DeviceAddress from,
                                        size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(Count(Verb::kCopy));
  return device_.Copy(to, from, bytes, stream);
}

absl::Status FaultInjectingDevice::CopyFromHost(DeviceAddress to,
                                                const void* from, size_t bytes,
                                                Stream stream) {
  RK_RETURN_IF_ERROR(Count(Verb::kCopyFromHost));
  return device_.CopyFromHost(to, from, bytes, stream);
}

absl::Status FaultInjectingDevice::CopyToHost(void* to, DeviceAddress from,
                                              size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(Count(Verb::kCopyToHost));
  return device_.CopyToHost(to, from, bytes, stream);
}

absl::Status FaultInjectingDevice::Fill(DeviceAddress address, uint8_t value,
                                        size_t bytes, Stream stream) {
  RK_RETURN_IF_ERROR(Count(Verb::kFill));
  return device_.Fill(address, value, bytes, stream);
}

absl::StatusOr<Stream> FaultInjectingDevice::CreateStream() {
  RK_RETURN_IF_ERROR(Count(Verb::kCreateStream));
  return device_.CreateStream();
}

absl::Status FaultInjectingDevice::DestroyStream(Stream stream) {
  RK_RETURN_IF_ERROR(Count(Verb::kDestroyStream));
  return device_.DestroyStream(stream);
}

absl::StatusOr<Event> FaultInjectingDevice::CreateEvent() {
  RK_RETURN_IF_ERROR(Count(Verb::kCreateEvent));
  return device_.CreateEvent();
}

absl::Status FaultInjectingDevice::DestroyEvent(Event event) {
  RK_RETURN_IF_ERROR(Count(Verb::kDestroyEvent));
  return device_.DestroyEvent(event);
}

absl::Status FaultInjectingDevice::Record(Event event, Stream stream) {
  RK_RETURN_IF_ERROR(Count(Verb::kRecord));
  return device_.Record(event, stream);
}

absl::Status FaultInjectingDevice::StreamWait(Stream stream, Event event) {
  RK_RETURN_IF_ERROR(Count(Verb::kStreamWait));
  return device_.StreamWait(stream, event);
}

absl::StatusOr<bool> FaultInjectingDevice::HasHappened(Event event) {
  RK_RETURN_IF_ERROR(Count(Verb::kHasHappened));
  return device_.HasHappened(event);
}

absl::Status FaultInjectingDevice::Synchronize(Stream stream) {
  RK_RETURN_IF_ERROR(Count(Verb::kSynchronize));
  return device_.Synchronize(stream);
}

}  // namespace rekindle
