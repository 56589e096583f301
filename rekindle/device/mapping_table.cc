// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/mapping_table.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

std::string RangeName(DeviceAddress address, size_t bytes) {
  return absl::StrCat("[0x", absl::Hex(address), ", +", bytes, ")");
}

bool Overflows(DeviceAddress address, size_t bytes) {
  return bytes > std::numeric_limits<DeviceAddress>::max() - address;
}

}  // namespace

MemoryInfo MappingTable::memory_info() const {
  MemoryInfo info;
  info.total = capacity_;
  info.free = capacity_ - created_;
  info.created = created_;
  info.peak_created = peak_created_;
  return info;
}

absl::Status MappingTable::CheckAligned(const char* what, size_t value) const {
  if ((value & (granularity_ - 1)) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", value, " is not a multiple of the granularity, ",
                   granularity_));
}

absl::Status MappingTable::CheckReserve(size_t bytes) const {
  if (bytes == 0) return absl::InvalidArgumentError("reservation of 0 bytes");
  return CheckAligned("reservation size", bytes);
}

void MappingTable::RecordReserve(DeviceAddress address, size_t bytes) {
  reservations_.emplace(address, bytes);
}

absl::Status MappingTable::CheckRelease(DeviceAddress address,
                                        size_t bytes) const {
  const auto reservation = reservations_.find(address);
  if (reservation == reservations_.end() || reservation->second != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(RangeName(address, bytes), " was not reserved as such"));
  }
  return CheckUnmapped(address, bytes);
}

void MappingTable::RecordRelease(DeviceAddress address) {
  reservations_.erase(address);
}

absl::Status MappingTable::CheckCreate(size_t bytes) const {
  if (bytes == 0) return absl::InvalidArgumentError("chunk of 0 bytes");
  RK_RETURN_IF_ERROR(CheckAligned("chunk size", bytes));
  if (bytes <= capacity_ - created_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "no memory for a chunk of ", FormatBytes(bytes), ": ",
      FormatBytes(created_), " of ", FormatBytes(capacity_), " are taken"));
}

ChunkId MappingTable::RecordCreate(size_t bytes, uint64_t backing) {
  const ChunkId id(next_chunk_++);
  Chunk& chunk = chunks_[id];
  chunk.bytes = bytes;
  chunk.backing = backing;
  created_ += bytes;
  peak_created_ = std::max(peak_created_, created_);
  return id;
}

absl::Status MappingTable::CheckDestroy(ChunkId chunk) const {
  const auto found = chunks_.find(chunk);
  if (found == chunks_.end()) {
    return absl::InvalidArgumentError(absl::StrCat("no chunk ", chunk.value()));
  }
  if (found->second.address == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("chunk ", chunk.value(), " is still mapped at 0x",
                   absl::Hex(found->second.address)));
}

void MappingTable::RecordDestroy(ChunkId chunk) {
  const auto found = chunks_.find(chunk);
  created_ -= found->second.bytes;
  chunks_.erase(found);
}

absl::Status MappingTable::CheckMap(DeviceAddress address,
                                    absl::Span<const ChunkId> chunks) {
  if (chunks.empty()) return absl::InvalidArgumentError("no chunks to map");
  ++checks_;
  size_t bytes = 0;
  for (const ChunkId id : chunks) {
    const auto found = chunks_.find(id);
    if (found == chunks_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("no chunk ", id.value()));
    }
    Chunk& chunk = found->second;
    if (chunk.address != 0 || chunk.last_check == checks_) {
      return absl::FailedPreconditionError(
          absl::StrCat("chunk ", id.value(), " would be mapped in two places"));
    }
    chunk.last_check = checks_;
    bytes += chunk.bytes;
  }
  RK_RETURN_IF_ERROR(CheckAligned("address", address));
  RK_RETURN_IF_ERROR(CheckInReservation(address, bytes));
  return CheckUnmapped(address, bytes);
}

void MappingTable::RecordMap(DeviceAddress address,
                             absl::Span<const ChunkId> chunks) {
  for (const ChunkId id : chunks) {
    Chunk& chunk = chunks_[id];
    chunk.address = address;
    mapped_.emplace(address, id);
    address += chunk.bytes;
  }
}

absl::StatusOr<int64_t> MappingTable::CheckUnmap(DeviceAddress address,
                                                 size_t bytes) const {
  if (bytes == 0) return absl::InvalidArgumentError("0 bytes to unmap");
  RK_RETURN_IF_ERROR(CheckAligned("address", address));
  RK_RETURN_IF_ERROR(CheckAligned("size to unmap", bytes));
  RK_RETURN_IF_ERROR(CheckInReservation(address, bytes));
  RK_RETURN_IF_ERROR(CheckAccess(address, bytes));
  const auto begin = mapped_.lower_bound(address);
  const auto end = mapped_.lower_bound(address + bytes);
  if (begin != end && begin->first == address) {
    const auto last = std::prev(end);
    if (last->first + chunk(last->second).bytes == address + bytes) {
      return static_cast<int64_t>(std::distance(begin, end));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(RangeName(address, bytes), " is not made of whole chunks"));
}

void MappingTable::RecordUnmap(DeviceAddress address, size_t bytes) {
  const auto begin = mapped_.lower_bound(address);
  const auto end = mapped_.lower_bound(address + bytes);
  for (auto entry = begin; entry != end; ++entry) {
    chunks_[entry->second].address = 0;
  }
  mapped_.erase(begin, end);
}

absl::Status MappingTable::CheckAccess(DeviceAddress address,
                                       size_t bytes) const {
  if (bytes == 0) return absl::OkStatus();
  if (Overflows(address, bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(RangeName(address, bytes), " ends beyond all addresses"));
  }
  const DeviceAddress end = address + bytes;
  const auto after = reservations_.lower_bound(end);
  if (after == reservations_.begin()) return absl::OkStatus();
  const auto reservation = std::prev(after);
  if (reservation->first + reservation->second <= address) {
    return absl::OkStatus();
  }
  auto entry = mapped_.upper_bound(address);
  DeviceAddress covered = address;
  if (entry != mapped_.begin()) {
    const auto before = std::prev(entry);
    covered = std::max(covered, before->first + chunk(before->second).bytes);
  }
  for (; covered < end && entry != mapped_.end() && entry->first == covered;
       ++entry) {
    covered += chunk(entry->second).bytes;
  }
  if (covered >= end) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(RangeName(address, bytes),
                                                    " is not mapped from 0x",
                                                    absl::Hex(covered), " on"));
}

absl::Status MappingTable::CheckInReservation(DeviceAddress address,
                                              size_t bytes) const {
  const auto after = reservations_.upper_bound(address);
  if (after != reservations_.begin()) {
    const auto reservation = std::prev(after);
    const size_t offset = address - reservation->first;
    if (offset <= reservation->second &&
        bytes <= reservation->second - offset) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      RangeName(address, bytes), " does not lie in one reservation"));
}

// REQUIRES: the range lies in one reservation.
absl::Status MappingTable::CheckUnmapped(DeviceAddress address,
                                         size_t bytes) const {
  const auto after = mapped_.lower_bound(address + bytes);
  if (after == mapped_.begin()) return absl::OkStatus();
  const auto last = std::prev(after);
  if (last->first + chunk(last->second).bytes <= address) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(RangeName(address, bytes), " has chunk ",
                   last->second.value(), " mapped in it"));
}

const MappingTable::Chunk& MappingTable::chunk(ChunkId id) const {
  const auto found = chunks_.find(id);
  RK_CHECK(found != chunks_.end(), "no such chunk");
  return found->second;
}

void MappingTable::CheckInvariants() const {
  size_t bytes = 0;
  size_t mapped = 0;
  for (const auto& [id, chunk] : chunks_) {
    bytes += chunk.bytes;
    mapped += chunk.address != 0;
  }
  RK_CHECK(bytes == created_, "created bytes are the sum of the chunks");
  RK_CHECK(created_ <= capacity_, "created bytes stay below the capacity");
  RK_CHECK(created_ <= peak_created_, "the peak is the largest");
  RK_CHECK(mapped == mapped_.size(), "each mapped chunk has one address");
  DeviceAddress end = 0;
  for (const auto& [address, id] : mapped_) {
    RK_CHECK(address >= end, "mapped chunks do not overlap");
    RK_CHECK(chunk(id).address == address, "both sides name one address");
    RK_CHECK(CheckInReservation(address, chunk(id).bytes).ok(),
             "mapped chunks lie in reservations");
    end = address + chunk(id).bytes;
  }
}

}  // namespace rekindle
