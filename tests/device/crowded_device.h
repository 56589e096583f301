// SPDX-License-Identifier: Apache-2.0
// A device whose memory another process takes and gives back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/device/fault_injecting_device.h"

namespace rekindle {

// Has no more than `room` bytes for us, whatever it says of its total.
class CrowdedDevice : public FaultInjectingDevice {
 public:
  CrowdedDevice(Device& device, size_t room)
      : FaultInjectingDevice(device), room_(room) {}

  // What is created already stays.
  void SetRoom(size_t room) { room_ = room; }
  int64_t refusals() const { return refusals_; }

  absl::StatusOr<ChunkId> Create(size_t bytes) override {
    if (memory_info().created + bytes > room_) {
      ++refusals_;
      return absl::ResourceExhaustedError("another process has the memory");
    }
    return FaultInjectingDevice::Create(bytes);
  }

 private:
  size_t room_;
  int64_t refusals_ = 0;
};

}  // namespace rekindle
