// SPDX-License-Identifier: Apache-2.0
// Which chunk stands behind which addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/allocator/ledger.h"
#include "rekindle/base/ids.h"
#include "rekindle/device/device.h"

namespace rekindle {

// Owns chunks of one size and the address regions they are mapped in; makes
// every device call of an arena and counts them.
//
//   none --Create--> spare --Map--> mapped --Unmap--> spare --Destroy--> none
//
// A verb that fails changes nothing, so a chunk is always in one of these
// states and in the ledger from before Create to after Destroy.
// Thread-compatible.
class ChunkTable {
 public:
  // REQUIRES: chunk_bytes is a multiple of the device's granularity. Both
  // `device` and `ledger` outlive the table.
  ChunkTable(Device& device, Ledger& ledger, size_t chunk_bytes)
      : device_(device), ledger_(ledger), chunk_bytes_(chunk_bytes) {}
  // Gives back everything that the device will take. REQUIRES: no queued work
  // touches it.
  ~ChunkTable();
  ChunkTable(const ChunkTable&) = delete;
  ChunkTable& operator=(const ChunkTable&) = delete;

  size_t chunk_bytes() const { return chunk_bytes_; }

  // Reserves addresses for at least `bytes`, made of whole chunks and next to
  // no other region; returns where they begin and sets `bytes` to their size.
  absl::StatusOr<DeviceAddress> AddRegion(size_t& bytes);

  // One more spare chunk. False: the ledger or the device has no room.
  absl::StatusOr<bool> Create();

  // Puts spare chunks behind the range: one device call.
  // REQUIRES: whole unmapped chunks of one region, and spare chunks for them.
  absl::Status Map(DeviceAddress address, size_t bytes);

  // Makes the chunks behind the range spare. REQUIRES: whole mapped chunks of
  // one region, and no queued work that touches them.
  absl::Status Unmap(DeviceAddress address, size_t bytes);

  // Destroys a spare chunk. REQUIRES: there is one.
  absl::Status Destroy();

  size_t spare() const { return spare_.size(); }
  size_t mapped() const { return mapped_; }
  size_t created() const { return spare_.size() + mapped_; }
  int64_t vmm_calls() const { return vmm_calls_; }

  // Whether a chunk stands behind the address.
  bool IsMapped(DeviceAddress address) const;

  // Aborts unless all bookkeeping agrees. Slow; for tests.
  void CheckInvariants() const;

 private:
  struct Region {
    DeviceAddress reserved = 0;
    size_t reserved_bytes = 0;
    DeviceAddress address = 0;  // of the first chunk
    size_t bytes = 0;
    std::vector<ChunkId> chunks;  // as far as any was ever mapped
  };

  Region& RegionOf(DeviceAddress address);

  Device& device_;
  Ledger& ledger_;
  const size_t chunk_bytes_;
  size_t mapped_ = 0;
  int64_t vmm_calls_ = 0;
  std::vector<ChunkId> spare_;
  std::vector<Region> regions_;
};

}  // namespace rekindle
