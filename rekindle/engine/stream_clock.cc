// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/stream_clock.h"

#include <algorithm>

#include "rekindle/base/status_macros.h"

namespace rekindle {

void StreamUses::AddOther(const StreamPoint& point) {
  const auto known = std::find_if(others_.begin(), others_.end(),
                                  [&point](const StreamPoint& other) {
                                    return other.stream == point.stream;
                                  });
  if (known != others_.end()) {
    *known = point;
  } else {
    others_.push_back(point);
  }
}

StreamClock::~StreamClock() {
  // A device that cannot is past caring; nobody is left to be told.
  if (event_.has_value()) device_.DestroyEvent(*event_).IgnoreError();
}

StreamClock::State& StreamClock::StateOf(Stream stream) {
  if (!states_.empty() && states_.front().stream == stream) {
    return states_.front();
  }
  const auto found = std::find_if(
      states_.begin(), states_.end(),
      [stream](const State& state) { return state.stream == stream; });
  if (found == states_.end()) {
    states_.insert(states_.begin(), {stream, ++time_, {}});
  } else {
    std::rotate(states_.begin(), found, found + 1);
  }
  return states_.front();
}

StreamPoint StreamClock::Now(Stream stream) {
  StateOf(stream);
  return {stream, ++time_};
}

absl::StatusOr<Event> StreamClock::TheEvent() {
  if (!event_.has_value()) {
    RK_ASSIGN_OR_RETURN(event_, device_.CreateEvent());
  }
  return *event_;
}

absl::Status StreamClock::Wait(Stream stream, const StreamPoint& point) {
  if (point.stream == stream || point.time == 0) return absl::OkStatus();
  if (HasEnded(point)) return absl::OkStatus();
  auto& waited = StateOf(stream).waited;
  const auto known =
      std::find_if(waited.begin(), waited.end(), [&point](const auto& entry) {
        return entry.first == point.stream.handle;
      });
  if (known != waited.end() && known->second >= point.time) {
    return absl::OkStatus();
  }
  RK_ASSIGN_OR_RETURN(const Event event, TheEvent());
  RK_RETURN_IF_ERROR(device_.Record(event, point.stream));
  RK_RETURN_IF_ERROR(device_.StreamWait(stream, event));
  // For all that is there by now, not only for what was there at the point.
  const int64_t now = ++time_;
  if (known != waited.end()) {
    known->second = now;
  } else {
    waited.emplace_back(point.stream.handle, now);
  }
  return absl::OkStatus();
}

absl::Status StreamClock::WaitAll(Stream stream, const StreamUses& uses) {
  RK_RETURN_IF_ERROR(Wait(stream, uses.first()));
  for (const StreamPoint& point : uses.others()) {
    RK_RETURN_IF_ERROR(Wait(stream, point));
  }
  return absl::OkStatus();
}

bool StreamClock::HasEnded(const StreamPoint& point) const {
  const auto found = std::find_if(
      states_.begin(), states_.end(),
      [&point](const State& state) { return state.stream == point.stream; });
  return found == states_.end() || point.time < found->began;
}

void StreamClock::Ended(Stream stream) {
  const auto found = std::find_if(
      states_.begin(), states_.end(),
      [stream](const State& state) { return state.stream == stream; });
  if (found != states_.end()) states_.erase(found);
  for (State& state : states_) {
    std::erase_if(state.waited, [stream](const auto& entry) {
      return entry.first == stream.handle;
    });
  }
}

}  // namespace rekindle
