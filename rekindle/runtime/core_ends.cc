// SPDX-License-Identifier: Apache-2.0
// How streams, pins and references end.
#include <utility>

#include "rekindle/base/status_macros.h"
#include "rekindle/runtime/core.h"

namespace rekindle::internal {

absl::StatusOr<Stream> Core::CreateStream() {
  RK_RETURN_IF_ERROR(RefuseInKernel());
  return device_->CreateStream();
}

absl::Status Core::DestroyStream(Stream stream) {
  RK_RETURN_IF_ERROR(RefuseInKernel());
  Section section(*this);
  RK_RETURN_IF_ERROR(RefuseToEnd(stream));
  RK_RETURN_IF_ERROR(device_->DestroyStream(stream));
  engine_->engine().StreamEnded(stream);
  return absl::OkStatus();
}

absl::Status Core::StreamEnded(Stream stream) {
  RK_RETURN_IF_ERROR(RefuseInKernel());
  Section section(*this);
  RK_RETURN_IF_ERROR(RefuseToEnd(stream));
  engine_->engine().StreamEnded(stream);
  return absl::OkStatus();
}

absl::Status Core::RefuseToEnd(Stream stream) {
  EndLate();
  if (stream == Stream() || stream == options_.stream) {
    return absl::InvalidArgumentError(
        "the default stream lasts as long as the runtime");
  }
  if (stream_pins_.find(stream.handle) != stream_pins_.end()) {
    return absl::FailedPreconditionError(
        "a guard on the stream lives: it must end first");
  }
  return absl::OkStatus();
}

void Core::DropReference(StorageId storage) {
  if (gate_.InsideThisThread()) {
    gate_.AssertInside();
    return PutAside({storage, std::nullopt});
  }
  Section section(*this);
  engine_->DropReference(storage);
}

void Core::EndPin(const Pin& pin) {
  if (gate_.InsideThisThread()) {
    gate_.AssertInside();
    return ReleasePin(pin);
  }
  Section section(*this);
  ReleasePin(pin);
}

void Core::PutAside(Late late) { late_.push_back(late); }

void Core::ReleasePin(const Pin& pin) {
  const auto count = pins_.find(pin.thread);
  if (--count->second == 0) pins_.erase(count);
  const auto on_stream = stream_pins_.find(pin.stream.handle);
  if (--on_stream->second == 0) stream_pins_.erase(on_stream);
  written_.erase(pin.storage);
  PutAside({pin.storage, pin.stream});
}

void Core::EndLate() {
  if (late_.empty()) return;
  bool unpinned = false;
  while (!late_.empty()) {
    // Ending one may put aside more: what its kernel had captured.
    for (const Late& late : std::exchange(late_, {})) {
      unpinned = unpinned || late.pin.has_value();
      if (late.pin.has_value()) engine_->Unpin(late.storage, *late.pin);
      engine_->DropReference(late.storage);
    }
  }
  if (unpinned) gate_.NotifyAll();
}

}  // namespace rekindle::internal
