// SPDX-License-Identifier: Apache-2.0
// What a device has reserved, created and mapped, as bookkeeping.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/device/device.h"

namespace rekindle {

// The memory rules of the Device contract, for backends that must enforce them
// themselves. Each verb comes as a check, which changes nothing and names what
// is wrong, and a record, called once the backend has done the deed.
//
//   chunk:  created --Map--> mapped --Unmap--> created --Destroy--> gone
//   range:  reserved --Map--> mapped --Unmap--> reserved --Release--> gone
//
// Cost: O(log n) a chunk. Thread-compatible.
class MappingTable {
 public:
  // `backing` says in the backend's own terms where the bytes are.
  struct Chunk {
    size_t bytes = 0;
    uint64_t backing = 0;
    DeviceAddress address = 0;  // 0: not mapped
    uint64_t last_check = 0;    // finds a chunk named twice in one Map
  };

  // REQUIRES: granularity is a power of two.
  MappingTable(size_t capacity, size_t granularity)
      : capacity_(capacity), granularity_(granularity) {}

  size_t granularity() const { return granularity_; }
  MemoryInfo memory_info() const;

  absl::Status CheckReserve(size_t bytes) const;
  void RecordReserve(DeviceAddress address, size_t bytes);

  absl::Status CheckRelease(DeviceAddress address, size_t bytes) const;
  void RecordRelease(DeviceAddress address);

  absl::Status CheckCreate(size_t bytes) const;
  ChunkId RecordCreate(size_t bytes, uint64_t backing);

  absl::Status CheckDestroy(ChunkId chunk) const;
  void RecordDestroy(ChunkId chunk);

  absl::Status CheckMap(DeviceAddress address,
                        absl::Span<const ChunkId> chunks);
  void RecordMap(DeviceAddress address, absl::Span<const ChunkId> chunks);

  // How many chunks would lose their addresses.
  absl::StatusOr<int64_t> CheckUnmap(DeviceAddress address, size_t bytes) const;
  void RecordUnmap(DeviceAddress address, size_t bytes);

  // Whether kernels may touch the range: all of it is mapped, or none of it is
  // in a reservation (then it is the program's own memory, not known here).
  absl::Status CheckAccess(DeviceAddress address, size_t bytes) const;

  // REQUIRES: a chunk that exists.
  const Chunk& chunk(ChunkId id) const;

  // Every chunk that exists.
  const absl::flat_hash_map<ChunkId, Chunk>& chunks() const { return chunks_; }

  // Every reservation, by address.
  const absl::btree_map<DeviceAddress, size_t>& reservations() const {
    return reservations_;
  }

  // Aborts unless all records agree. Slow; for tests.
  void CheckInvariants() const;

 private:
  absl::Status CheckAligned(const char* what, size_t value) const;
  absl::Status CheckInReservation(DeviceAddress address, size_t bytes) const;
  absl::Status CheckUnmapped(DeviceAddress address, size_t bytes) const;

  const size_t capacity_;
  const size_t granularity_;
  size_t created_ = 0;
  size_t peak_created_ = 0;
  int64_t next_chunk_ = 0;
  uint64_t checks_ = 0;
  absl::btree_map<DeviceAddress, size_t> reservations_;
  absl::btree_map<DeviceAddress, ChunkId> mapped_;
  absl::flat_hash_map<ChunkId, Chunk> chunks_;
};

}  // namespace rekindle
