// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/cuda/streams.h"

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"

namespace rekindle::cuda {
namespace {

StreamHandle StreamAt(uintptr_t handle) {
  return reinterpret_cast<StreamHandle>(handle);  // NOLINT
}

EventHandle EventAt(uintptr_t handle) {
  return reinterpret_cast<EventHandle>(handle);  // NOLINT
}

absl::Status NoStream(Stream stream) {
  return absl::InvalidArgumentError(
      absl::StrCat("stream 0x", absl::Hex(stream.handle),
                   " was destroyed, or is not of this device's making"));
}

absl::Status NoEvent(Event event) {
  return absl::InvalidArgumentError(
      absl::StrCat("no event with handle 0x", absl::Hex(event.handle)));
}

}  // namespace

Streams::~Streams() {
  const ContextGuard guard(session_);
  if (guard.result() != Result::kSuccess) return;  // the driver has gone
  MutexLock lock(mutex_);
  for (const uintptr_t event : events_) {
    session_.api().cuEventDestroy(EventAt(event));
  }
  for (const auto* streams : {&live_, &ending_, &idle_}) {
    for (const uintptr_t stream : *streams) {
      session_.api().cuStreamDestroy(StreamAt(stream));
    }
  }
}

absl::StatusOr<Stream> Streams::CreateStream() {
  CallScope scope(session_, "stream creation");
  RK_RETURN_IF_ERROR(scope.status());
  MutexLock lock(mutex_);
  Stream stream;
  if (!idle_.empty()) {
    stream.handle = *idle_.begin();
    idle_.erase(idle_.begin());
  } else {
    StreamHandle created = nullptr;
    RK_RETURN_IF_ERROR(
        scope.Check(scope.api().cuStreamCreate(&created, kStreamNonBlocking),
                    "cuStreamCreate"));
    stream.handle = reinterpret_cast<uintptr_t>(created);
  }
  live_.insert(stream.handle);
  return stream;
}

absl::Status Streams::DestroyStream(Stream stream) {
  {
    // Off the list before the wait: of two threads that end the stream one is
    // refused, and neither ends the next stream with this handle.
    MutexLock lock(mutex_);
    if (live_.erase(stream.handle) == 0) return NoStream(stream);
    ending_.insert(stream.handle);
  }
  const absl::Status status = Finish(stream);
  MutexLock lock(mutex_);
  ending_.erase(stream.handle);
  (status.ok() ? idle_ : live_).insert(stream.handle);
  return status;
}

absl::Status Streams::Finish(Stream stream) {
  CallScope scope(session_, "end of a stream");
  RK_RETURN_IF_ERROR(scope.status());
  return scope.Check(scope.api().cuStreamSynchronize(ToDriver(stream)),
                     "cuStreamSynchronize");
}

absl::Status Streams::CheckStream(Stream stream) const {
  MutexLock lock(mutex_);
  const bool gone =
      idle_.contains(stream.handle) || ending_.contains(stream.handle);
  return gone ? NoStream(stream) : absl::OkStatus();
}

absl::StatusOr<Event> Streams::CreateEvent() {
  CallScope scope(session_, "event creation");
  RK_RETURN_IF_ERROR(scope.status());
  EventHandle created = nullptr;
  RK_RETURN_IF_ERROR(
      scope.Check(scope.api().cuEventCreate(&created, kEventDisableTiming),
                  "cuEventCreate"));
  Event event;
  event.handle = reinterpret_cast<uintptr_t>(created);
  MutexLock lock(mutex_);
  events_.insert(event.handle);
  return event;
}

absl::Status Streams::DestroyEvent(Event event) {
  RK_RETURN_IF_ERROR(CheckEvent(event));
  CallScope scope(session_, "end of an event");
  RK_RETURN_IF_ERROR(scope.status());
  MutexLock lock(mutex_);
  if (!events_.contains(event.handle)) return NoEvent(event);  // by now
  RK_RETURN_IF_ERROR(scope.Check(
      scope.api().cuEventDestroy(EventAt(event.handle)), "cuEventDestroy"));
  events_.erase(event.handle);
  return absl::OkStatus();
}

absl::Status Streams::CheckEvent(Event event) const {
  MutexLock lock(mutex_);
  return events_.contains(event.handle) ? absl::OkStatus() : NoEvent(event);
}

absl::Status Streams::Record(Event event, Stream stream) {
  RK_RETURN_IF_ERROR(CheckEvent(event));
  RK_RETURN_IF_ERROR(CheckStream(stream));
  CallScope scope(session_, "record of an event");
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(RefuseCapture(scope, stream.handle,
                                   "its events would mean nothing outside"));
  return scope.Check(
      scope.api().cuEventRecord(EventAt(event.handle), ToDriver(stream)),
      "cuEventRecord");
}

absl::Status Streams::StreamWait(Stream stream, Event event) {
  RK_RETURN_IF_ERROR(CheckEvent(event));
  RK_RETURN_IF_ERROR(CheckStream(stream));
  CallScope scope(session_, "wait of a stream");
  RK_RETURN_IF_ERROR(scope.status());
  RK_RETURN_IF_ERROR(
      RefuseCapture(scope, stream.handle, "it cannot wait for work outside"));
  return scope.Check(scope.api().cuStreamWaitEvent(
                         ToDriver(stream), EventAt(event.handle), /*flags=*/0),
                     "cuStreamWaitEvent");
}

absl::StatusOr<bool> Streams::HasHappened(Event event) {
  RK_RETURN_IF_ERROR(CheckEvent(event));
  CallScope scope(session_, "query of an event");
  RK_RETURN_IF_ERROR(scope.status());
  const Result result = scope.api().cuEventQuery(EventAt(event.handle));
  if (result == Result::kNotReady) return false;
  RK_RETURN_IF_ERROR(scope.Check(result, "cuEventQuery"));
  return true;
}

std::vector<uintptr_t> Streams::Live() const {
  MutexLock lock(mutex_);
  return {live_.begin(), live_.end()};
}

absl::Status Streams::CheckNotCapturing(const CallScope& scope) const {
  std::vector<uintptr_t> streams = Live();
  streams.push_back(0);  // answers for all that wait for it
  for (const uintptr_t stream : streams) {
    RK_RETURN_IF_ERROR(RefuseCapture(scope, stream, "map memory before"));
  }
  return absl::OkStatus();
}

absl::Status Streams::RefuseCapture(const CallScope& scope, uintptr_t stream,
                                    absl::string_view why) {
  CaptureStatus capture = CaptureStatus::kNone;
  RK_RETURN_IF_ERROR(
      scope.Check(scope.api().cuStreamIsCapturing(StreamAt(stream), &capture),
                  "cuStreamIsCapturing"));
  if (capture == CaptureStatus::kNone) return absl::OkStatus();
  return scope.Named(absl::FailedPreconditionError(
      absl::StrCat("stream 0x", absl::Hex(stream),
                   " is being captured into a graph: ", why)));
}

}  // namespace rekindle::cuda
