// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/cuda/session.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"
#include "rekindle/device/cuda/driver_error.h"

namespace rekindle::cuda {

absl::StatusOr<std::unique_ptr<Session>> Session::Open(const DriverApi& api,
                                                       DeviceOrdinal device,
                                                       Log log) {
  Context context = nullptr;
  RK_RETURN_IF_ERROR(ToStatus(api.cuDevicePrimaryCtxRetain(&context, device),
                              "cuDevicePrimaryCtxRetain"));
  return absl::WrapUnique(new Session(api, device, context, log));
}

Session::~Session() {
  // Fails only where the process ends and the driver has gone before us.
  api_.cuDevicePrimaryCtxRelease(device_);
}

absl::Status Session::lost() const {
  MutexLock lock(mutex_);
  return lost_;
}

void Session::SetLost(const absl::Status& status) {
  MutexLock lock(mutex_);
  lost_.Update(status);  // keeps the first
}

void Session::NoteLeftCurrent(const absl::Status& status) const {
  if (left_current_.exchange(true)) return;
  log_.Warning(absl::StrCat(
      status.message(),
      ": the calling thread keeps a device's context as its current one"));
}

ContextGuard::ContextGuard(const Session& session) : session_(session) {
  const DriverApi& api = session_.api();
  Context current = nullptr;
  call_ = "cuCtxGetCurrent";
  result_ = api.cuCtxGetCurrent(&current);
  if (result_ != Result::kSuccess || current == session.context()) return;
  call_ = "cuCtxPushCurrent";
  result_ = api.cuCtxPushCurrent(session.context());
  pushed_ = result_ == Result::kSuccess;
}

ContextGuard::~ContextGuard() {
  if (!pushed_) return;
  Context popped = nullptr;
  const Result result = session_.api().cuCtxPopCurrent(&popped);
  if (result == Result::kSuccess) return;
  // The verb has done its deed, and what stays current does it no harm.
  session_.NoteLeftCurrent(ToStatus(result, "cuCtxPopCurrent"));
}

CallScope::CallScope(Session& session, absl::string_view verb, size_t bytes)
    : session_(session), verb_(verb), bytes_(bytes) {
  const absl::Status lost = session_.lost();
  if (lost.ok()) {
    guard_.emplace(session_);
    status_ = Check(guard_->result(), guard_->call());
  } else {
    status_ = Named(absl::Status(
        lost.code(),
        absl::StrCat("the device is lost since ", lost.message())));
  }
}

absl::Status CallScope::Check(Result result, absl::string_view call) const {
  if (result == Result::kSuccess) return absl::OkStatus();
  absl::Status status = Named(ToStatus(result, call));
  if (IsSticky(result)) session_.SetLost(status);
  return status;
}

absl::Status CallScope::Named(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(verb_, bytes_ == 0 ? "" : " of ",
                                   bytes_ == 0 ? "" : FormatBytes(bytes_), ": ",
                                   status.message()));
}

}  // namespace rekindle::cuda
