// SPDX-License-Identifier: Apache-2.0
// The streams and events of the CUDA backend.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/base/mutex.h"
#include "rekindle/device/cuda/session.h"
#include "rekindle/device/device.h"

namespace rekindle::cuda {

inline StreamHandle ToDriver(Stream stream) {
  return reinterpret_cast<StreamHandle>(stream.handle);  // NOLINT
}

// Three kinds of streams:
//   default      handle 0, the legacy stream of the context
//   own          made by CreateStream; does not wait for the default stream,
//                nor the default stream for it
//   the program's   any other handle: taken as it is, and never ended here
//
// An own stream that is destroyed is kept, idle, for the next CreateStream and
// ends with the device. So a handle that is gone can be told from one of the
// program's, whose handles the driver would otherwise take from the same pool.
//
// Thread-safe.
class Streams {
 public:
  // `session` must outlive this object.
  explicit Streams(Session& session) : session_(session) {}
  // Ends all streams and events. REQUIRES: nothing is queued.
  ~Streams();

  absl::StatusOr<Stream> CreateStream();
  absl::Status DestroyStream(Stream stream);
  // InvalidArgument for an own stream that was destroyed.
  absl::Status CheckStream(Stream stream) const;

  absl::StatusOr<Event> CreateEvent();
  absl::Status DestroyEvent(Event event);
  // Both: FailedPrecondition while the stream is being captured into a graph.
  absl::Status Record(Event event, Stream stream);
  absl::Status StreamWait(Stream stream, Event event);
  absl::StatusOr<bool> HasHappened(Event event);

  // FailedPrecondition while a stream known here is being captured into a
  // graph: an own one, or any that waits for the default stream. Streams of
  // the program that do not wait for it are not asked: they may be gone.
  // Cost: a driver call for each own stream.
  absl::Status CheckNotCapturing(const CallScope& scope) const;

 private:
  absl::Status CheckEvent(Event event) const;
  static absl::Status RefuseCapture(const CallScope& scope, uintptr_t stream,
                                    absl::string_view why);
  // Waits for all work of the stream.
  absl::Status Finish(Stream stream);
  std::vector<uintptr_t> Live() const;

  Session& session_;
  mutable Mutex mutex_;
  // An own stream is in one of these: from live_ it goes to ending_, to idle_
  // once its work is done (or back to live_ if that cannot be known), and with
  // its next CreateStream to live_ again.
  absl::flat_hash_set<uintptr_t> live_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uintptr_t> ending_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uintptr_t> idle_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uintptr_t> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rekindle::cuda
