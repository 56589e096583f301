// SPDX-License-Identifier: Apache-2.0
// A device whose streams are busy for as long as a test says.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rekindle/device/fault_injecting_device.h"

namespace rekindle {

// Events recorded in a busy stream have not happened until the stream is idle
// or waited for. Thread-compatible.
class BusyDevice : public FaultInjectingDevice {
 public:
  using FaultInjectingDevice::FaultInjectingDevice;

  void SetBusy(Stream stream) { busy_.insert(stream.handle); }
  void SetIdle(Stream stream) {
    busy_.erase(stream.handle);
    for (auto& [event, recorded] : pending_) {
      if (recorded == stream.handle) event_done_.insert(event);
    }
  }

  // Who waits for whom, in the order of the calls; first the one that waits.
  std::vector<std::pair<uintptr_t, uintptr_t>> TakeWaits() {
    return std::exchange(waits_, {});
  }

  absl::Status Record(Event event, Stream stream) override {
    absl::Status status = FaultInjectingDevice::Record(event, stream);
    if (!status.ok()) return status;
    pending_[event.handle] = stream.handle;
    if (busy_.contains(stream.handle)) {
      event_done_.erase(event.handle);
    } else {
      event_done_.insert(event.handle);
    }
    return status;
  }
  absl::Status StreamWait(Stream stream, Event event) override {
    absl::Status status = FaultInjectingDevice::StreamWait(stream, event);
    if (status.ok()) {
      waits_.emplace_back(stream.handle, pending_.at(event.handle));
    }
    return status;
  }
  absl::StatusOr<bool> HasHappened(Event event) override {
    absl::StatusOr<bool> happened = FaultInjectingDevice::HasHappened(event);
    if (!happened.ok()) return happened;
    return event_done_.contains(event.handle);
  }
  absl::Status Synchronize(Stream stream) override {
    absl::Status status = FaultInjectingDevice::Synchronize(stream);
    if (status.ok()) SetIdle(stream);
    return status;
  }

 private:
  std::set<uintptr_t> busy_;
  absl::flat_hash_map<uintptr_t, uintptr_t> pending_;  // event to stream
  std::set<uintptr_t> event_done_;
  std::vector<std::pair<uintptr_t, uintptr_t>> waits_;
};

}  // namespace rekindle
