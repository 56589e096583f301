// SPDX-License-Identifier: Apache-2.0
// A little of everything that a device does, for tests that make it fail.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/device/device.h"

namespace rekindle {

// Four streams with queued work, chunks that move to other addresses, bytes
// that are checked. Whatever fails, it gives everything back: a verb that
// fails there is tried once more. One object, one run.
class Workload {
 public:
  explicit Workload(Device& device)
      : device_(device), unit_(device.granularity()), sent_(unit_, 0x5A) {}

  // The first error of all verbs.
  absl::Status Run() {
    absl::Status status = Work();
    status.Update(GiveBack());
    return status;
  }

 private:
  static constexpr size_t kStreams = 4;
  static constexpr size_t kRangeUnits = 12;

  absl::Status Work() {
    RK_RETURN_IF_ERROR(SetUp());
    // Stream i fills its chunk, then hands over to stream i + 1.
    for (size_t i = 0; i < kStreams; ++i) {
      RK_RETURN_IF_ERROR(
          device_.Fill(At(i), static_cast<uint8_t>(i + 1), unit_, streams_[i]));
      RK_RETURN_IF_ERROR(device_.Record(events_[i], streams_[i]));
    }
    RK_RETURN_IF_ERROR(
        device_.CopyFromHost(At(4), sent_.data(), unit_, streams_[0]));
    for (size_t i = 0; i + 1 < kStreams; ++i) {
      RK_RETURN_IF_ERROR(device_.StreamWait(streams_[i + 1], events_[i]));
      RK_RETURN_IF_ERROR(
          device_.Copy(At(i + 1), At(i), unit_ / 2, streams_[i + 1]));
      RK_RETURN_IF_ERROR(device_.Record(events_[i + 1], streams_[i + 1]));
    }
    RK_RETURN_IF_ERROR(device_.HasHappened(events_[kStreams - 1]).status());
    RK_RETURN_IF_ERROR(Holds(At(kStreams - 1), 1, streams_[kStreams - 1]));
    return Move();
  }

  absl::Status SetUp() {
    RK_ASSIGN_OR_RETURN(range_, device_.Reserve(kRangeUnits * unit_));
    for (size_t i = 0; i < kStreams; ++i) {
      RK_ASSIGN_OR_RETURN(const ChunkId chunk, device_.Create(unit_));
      chunks_.push_back(chunk);
    }
    RK_ASSIGN_OR_RETURN(const ChunkId large, device_.Create(2 * unit_));
    chunks_.push_back(large);
    RK_RETURN_IF_ERROR(Map(0, chunks_, 6));
    for (size_t i = 0; i < kStreams; ++i) {
      RK_ASSIGN_OR_RETURN(const Stream stream, device_.CreateStream());
      streams_.push_back(stream);
      RK_ASSIGN_OR_RETURN(const Event event, device_.CreateEvent());
      events_.push_back(event);
    }
    return absl::OkStatus();
  }

  // While other streams have work: the last two chunks go to other addresses.
  absl::Status Move() {
    RK_RETURN_IF_ERROR(device_.Synchronize(streams_[0]));
    RK_RETURN_IF_ERROR(device_.Synchronize(streams_[3]));
    RK_RETURN_IF_ERROR(device_.Fill(At(1), 0x77, unit_, streams_[1]));
    RK_RETURN_IF_ERROR(Unmap(3, 3));
    RK_RETURN_IF_ERROR(Map(8, {chunks_[4], chunks_[3]}, 3));
    RK_RETURN_IF_ERROR(Holds(At(8), 0x5A, streams_[2]));
    return Holds(At(10), 1, streams_[2]);
  }

  absl::Status Holds(DeviceAddress address, uint8_t value, Stream stream) {
    uint8_t& got = got_.emplace_back(0);
    RK_RETURN_IF_ERROR(device_.CopyToHost(&got, address, 1, stream));
    EXPECT_EQ(got, value);
    return absl::OkStatus();
  }

  absl::Status Map(size_t unit, std::vector<ChunkId> chunks, size_t units) {
    RK_RETURN_IF_ERROR(device_.Map(At(unit), chunks));
    mapped_.emplace_back(unit, units);
    return absl::OkStatus();
  }

  // Takes [unit, unit + units) off the end of the mapped run that has it.
  absl::Status Unmap(size_t unit, size_t units) {
    RK_RETURN_IF_ERROR(device_.Unmap(At(unit), units * unit_));
    mapped_.back().second -= units;
    return absl::OkStatus();
  }

  template <typename Verb>
  static absl::Status Twice(Verb verb) {
    const absl::Status first = verb();
    if (!first.ok()) {
      EXPECT_EQ(verb(), absl::OkStatus());
    }
    return first;
  }

  absl::Status GiveBack() {
    absl::Status status;
    for (const Stream stream : streams_) {
      status.Update(Twice([&] { return device_.Synchronize(stream); }));
    }
    status.Update(Twice([&] { return device_.Synchronize(Stream()); }));
    for (const auto& run : mapped_) {
      status.Update(Twice(
          [&] { return device_.Unmap(At(run.first), run.second * unit_); }));
    }
    for (const ChunkId chunk : chunks_) {
      status.Update(Twice([&] { return device_.Destroy(chunk); }));
    }
    if (range_ != 0) {
      status.Update(
          Twice([&] { return device_.Release(range_, kRangeUnits * unit_); }));
    }
    for (const Event event : events_) {
      status.Update(Twice([&] { return device_.DestroyEvent(event); }));
    }
    for (const Stream stream : streams_) {
      status.Update(Twice([&] { return device_.DestroyStream(stream); }));
    }
    return status;
  }

  DeviceAddress At(size_t unit) const { return range_ + unit * unit_; }

  Device& device_;
  const size_t unit_;
  const std::vector<uint8_t> sent_;
  std::deque<uint8_t> got_;  // stays where it is: a copy may run late
  DeviceAddress range_ = 0;
  std::vector<ChunkId> chunks_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::vector<std::pair<size_t, size_t>> mapped_;  // first unit, units
};

}  // namespace rekindle
