// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/chunk_table.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "rekindle/allocator/give_back.h"
#include "rekindle/base/check.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"

namespace rekindle {

ChunkTable::~ChunkTable() {
  for (Region& region : regions_) {
    const std::vector<ChunkId>& chunks = region.chunks;
    for (size_t i = 0; i < chunks.size();) {
      size_t end = i;
      while (end < chunks.size() && chunks[end].valid()) ++end;
      if (end > i) {
        GiveBack([&] {
          return Unmap(region.address + i * chunk_bytes_,
                       (end - i) * chunk_bytes_);
        });
      }
      i = end + 1;
    }
    GiveBack([&] {
      return device_.Release(region.reserved, region.reserved_bytes);
    });
  }
  while (!spare_.empty()) {
    GiveBack([&] { return device_.Destroy(spare_.back()); });
    spare_.pop_back();
  }
}

absl::StatusOr<DeviceAddress> ChunkTable::AddRegion(size_t& bytes) {
  if (bytes > std::numeric_limits<size_t>::max() / 2) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no address range has ", bytes, " bytes"));
  }
  // One chunk more for alignment, and one that stays unused so that the region
  // never touches the next.
  Region region;
  region.bytes = RoundUp(bytes, chunk_bytes_);
  region.reserved_bytes = region.bytes + 2 * chunk_bytes_;
  RK_ASSIGN_OR_RETURN(region.reserved, device_.Reserve(region.reserved_bytes));
  region.address = RoundUp(region.reserved, chunk_bytes_);
  bytes = region.bytes;
  regions_.push_back(region);
  return region.address;
}

absl::StatusOr<bool> ChunkTable::Create() {
  std::optional<Ledger::Reservation> reservation =
      ledger_.Reserve(chunk_bytes_);
  if (!reservation.has_value()) return false;
  ++vmm_calls_;
  const absl::StatusOr<ChunkId> chunk = device_.Create(chunk_bytes_);
  if (absl::IsResourceExhausted(chunk.status())) return false;
  RK_RETURN_IF_ERROR(chunk.status());
  reservation->Commit();
  spare_.push_back(*chunk);
  return true;
}

absl::Status ChunkTable::Map(DeviceAddress address, size_t bytes) {
  const size_t count = bytes / chunk_bytes_;
  RK_CHECK(count <= spare_.size(), "a spare chunk for each address");
  // The newest in the order they were made, which may be adjacent memory.
  const auto chunks = absl::MakeConstSpan(spare_).last(count);
  ++vmm_calls_;
  RK_RETURN_IF_ERROR(device_.Map(address, chunks));
  Region& region = RegionOf(address);
  const size_t begin = (address - region.address) / chunk_bytes_;
  if (region.chunks.size() < begin + count) region.chunks.resize(begin + count);
  std::copy(chunks.begin(), chunks.end(), region.chunks.begin() + begin);
  spare_.resize(spare_.size() - count);
  mapped_ += count;
  return absl::OkStatus();
}

absl::Status ChunkTable::Unmap(DeviceAddress address, size_t bytes) {
  ++vmm_calls_;
  RK_RETURN_IF_ERROR(device_.Unmap(address, bytes));
  Region& region = RegionOf(address);
  const size_t begin = (address - region.address) / chunk_bytes_;
  const size_t count = bytes / chunk_bytes_;
  for (size_t i = begin; i < begin + count; ++i) {
    spare_.push_back(region.chunks[i]);
    region.chunks[i] = ChunkId();
  }
  mapped_ -= count;
  return absl::OkStatus();
}

absl::Status ChunkTable::Destroy() {
  ++vmm_calls_;
  RK_RETURN_IF_ERROR(device_.Destroy(spare_.back()));
  spare_.pop_back();
  ledger_.GiveBack(chunk_bytes_);
  return absl::OkStatus();
}

ChunkTable::Region& ChunkTable::RegionOf(DeviceAddress address) {
  for (Region& region : regions_) {
    if (address - region.address < region.bytes) return region;
  }
  RK_CHECK(false, "the address lies in a region");
}

bool ChunkTable::IsMapped(DeviceAddress address) const {
  for (const Region& region : regions_) {
    if (address - region.address >= region.bytes) continue;
    const size_t index = (address - region.address) / chunk_bytes_;
    return index < region.chunks.size() && region.chunks[index].valid();
  }
  return false;
}

void ChunkTable::CheckInvariants() const {
  size_t mapped = 0;
  for (const Region& region : regions_) {
    RK_CHECK(region.chunks.size() * chunk_bytes_ <= region.bytes,
             "chunks lie in their region");
    for (const ChunkId chunk : region.chunks) mapped += chunk.valid() ? 1 : 0;
  }
  RK_CHECK(mapped == mapped_, "mapped chunks are counted");
  RK_CHECK(created() * chunk_bytes_ == ledger_.used(),
           "the ledger counts the chunks");
}

}  // namespace rekindle
