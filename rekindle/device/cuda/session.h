// SPDX-License-Identifier: Apache-2.0
// How calls to the driver are made: in the right context, with errors that say
// what was tried.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rekindle/base/log.h"
#include "rekindle/base/mutex.h"
#include "rekindle/device/cuda/driver_api.h"

namespace rekindle::cuda {

// Holds a reference to the primary context of a device: the one that the CUDA
// runtime of the program, and cuBLAS, use as well, so streams and addresses
// are shared with them. Thread-safe.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Open(const DriverApi& api,
                                                       DeviceOrdinal device,
                                                       Log log = Log());
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const DriverApi& api() const { return api_; }
  DeviceOrdinal device() const { return device_; }
  Context context() const { return context_; }

  // OK, or the first error that the context cannot recover from.
  absl::Status lost() const;
  void SetLost(const absl::Status& status);

  // A thread kept the context as its current one, for this error. A warning,
  // the first time.
  void NoteLeftCurrent(const absl::Status& status) const;

 private:
  Session(const DriverApi& api, DeviceOrdinal device, Context context, Log log)
      : api_(api), device_(device), context_(context), log_(log) {}

  const DriverApi api_;
  const DeviceOrdinal device_;
  const Context context_;
  const Log log_;
  mutable Mutex mutex_;
  absl::Status lost_ ABSL_GUARDED_BY(mutex_);
  mutable std::atomic<bool> left_current_ = false;
};

// While it lives, the session's context is current for the calling thread; at
// its end what was current before is again, so the program never sees its
// current device change. (Setting and leaving the context would switch the
// program's device behind its back.) Costs one query where the context is
// current anyway, as on the threads of a program that uses this one device
// through the CUDA runtime.
class ContextGuard {
 public:
  explicit ContextGuard(const Session& session);
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
  ~ContextGuard();

  // kSuccess if the context is current; else what `call` returned.
  Result result() const { return result_; }
  absl::string_view call() const { return call_; }

 private:
  const Session& session_;
  Result result_ = Result::kSuccess;
  absl::string_view call_;
  bool pushed_ = false;
};

// The driver calls of one verb, in the session's context.
class CallScope {
 public:
  // `verb` and `bytes` (unless 0) are what errors name. `verb` is a literal.
  CallScope(Session& session, absl::string_view verb, size_t bytes = 0);
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // Whether calls may be made: the context is current, and not lost.
  const absl::Status& status() const { return status_; }
  const DriverApi& api() const { return session_.api(); }

  // The result of driver call `call` as a status,
  //   "map of 4.00 MiB: cuMemSetAccess: CUDA_ERROR_OUT_OF_MEMORY (...)".
  // An error that stays is remembered by the session: every later scope's
  // status() is that error.
  absl::Status Check(Result result, absl::string_view call) const;

  // `status` with the verb and the bytes in front of its message.
  absl::Status Named(const absl::Status& status) const;

 private:
  Session& session_;
  const absl::string_view verb_;
  const size_t bytes_;
  std::optional<ContextGuard> guard_;
  absl::Status status_;
};

}  // namespace rekindle::cuda
