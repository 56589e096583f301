// SPDX-License-Identifier: Apache-2.0
// The order of work on several streams. Internal to engine/.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/device/device.h"

namespace rekindle {

// A moment in a stream: after all work that was put on it before.
struct StreamPoint {
  Stream stream;
  int64_t time = 0;  // of its StreamClock; 0: before everything
};

// The latest work that used some bytes, one point a stream.
class StreamUses {
 public:
  void Add(const StreamPoint& point) {
    if (first_.time == 0 || first_.stream == point.stream) {
      first_ = point;
    } else {
      AddOther(point);
    }
  }
  // All earlier uses come before this one.
  void Replace(const StreamPoint& point) {
    first_ = point;
    others_.clear();
  }

  const StreamPoint& first() const { return first_; }
  // Empty for what one stream alone has used.
  const std::vector<StreamPoint>& others() const { return others_; }

 private:
  void AddOther(const StreamPoint& point);

  StreamPoint first_;
  std::vector<StreamPoint> others_;
};

// Makes streams wait for each other, by events recorded when somebody has to
// wait and not when work is done: programs on one stream never need one.
// Thread-compatible.
class StreamClock {
 public:
  explicit StreamClock(Device& device) : device_(device) {}
  ~StreamClock();
  StreamClock(const StreamClock&) = delete;
  StreamClock& operator=(const StreamClock&) = delete;

  // After all work that is on the stream now.
  StreamPoint Now(Stream stream);

  // What `stream` is given from now on waits for all that was before `point`.
  // The host does not wait. Errors: of the device; then nothing has changed.
  absl::Status Wait(Stream stream, const StreamPoint& point);
  absl::Status WaitAll(Stream stream, const StreamUses& uses);

  // The stream was destroyed, after all its work.
  void Ended(Stream stream);
  // Whether the stream of the point has ended: nobody need wait for it.
  bool HasEnded(const StreamPoint& point) const;

 private:
  struct State {
    Stream stream;
    int64_t began;  // points before this are of a stream that has ended
    // The time up to which other streams were waited for, by handle.
    std::vector<std::pair<uintptr_t, int64_t>> waited;
  };

  State& StateOf(Stream stream);
  absl::StatusOr<Event> TheEvent();

  Device& device_;
  int64_t time_ = 0;
  std::vector<State> states_;   // few; the latest used first
  std::optional<Event> event_;  // made when needed
};

}  // namespace rekindle
