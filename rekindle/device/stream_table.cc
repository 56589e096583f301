// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/stream_table.h"

#include "absl/strings/str_cat.h"

namespace rekindle {

Stream StreamTable::CreateStream() {
  Stream stream;
  stream.handle = next_handle_++;
  streams_.insert(stream.handle);
  return stream;
}

absl::Status StreamTable::DestroyStream(Stream stream) {
  if (stream == Stream()) {
    return absl::InvalidArgumentError("the default stream is always there");
  }
  if (streams_.erase(stream.handle) > 0) return absl::OkStatus();
  return CheckStream(stream);
}

absl::Status StreamTable::CheckStream(Stream stream) const {
  if (stream == Stream() || streams_.contains(stream.handle)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no stream with handle ", stream.handle));
}

Event StreamTable::CreateEvent() {
  Event event;
  event.handle = next_handle_++;
  events_.insert(event.handle);
  return event;
}

absl::Status StreamTable::DestroyEvent(Event event) {
  if (events_.erase(event.handle) > 0) return absl::OkStatus();
  return CheckEvent(event);
}

absl::Status StreamTable::CheckEvent(Event event) const {
  if (events_.contains(event.handle)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("no event with handle ", event.handle));
}

}  // namespace rekindle
