// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/fake_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"
#include "rekindle/base/units.h"

namespace rekindle::cuda {
namespace {

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* Pointer(DevicePointer address) {
  return reinterpret_cast<void*>(address);  // NOLINT
}

// `bytes` inaccessible bytes at a multiple of `alignment`; 0 if there is no
// such room.
DevicePointer ReserveAligned(size_t bytes, size_t alignment) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t slack = alignment > page ? alignment - page : 0;
  void* const mapped =
      mmap(nullptr, bytes + slack, PROT_NONE, kReserved, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  const auto start = reinterpret_cast<DevicePointer>(mapped);
  const DevicePointer address = RoundUp(start, alignment);
  if (address > start) munmap(mapped, address - start);
  const size_t after = slack - (address - start);
  if (after > 0) munmap(Pointer(address + bytes), after);
  return address;
}

}  // namespace

FakeMemory::FakeMemory(size_t total, size_t granularity, RuleBook& rules)
    : total_(total),
      granularity_(granularity),
      rules_(rules),
      file_(ExtentFile::Create().value()) {}

FakeMemory::~FakeMemory() {
  for (const auto& [address, bytes] : reservations_) {
    munmap(Pointer(address), bytes);
  }
  for (const auto& [address, bytes] : program_) munmap(Pointer(address), bytes);
}

Result FakeMemory::Broken(const std::string& rule, const char* call,
                          DevicePointer address, size_t bytes) {
  return rules_.Broken(
      rule,
      absl::StrCat(call, " of [0x", absl::Hex(address), ", +", bytes, ")"),
      Result::kInvalidValue);
}

Result FakeMemory::Reserve(DevicePointer* address, size_t bytes,
                           size_t alignment, unsigned long long flags) {
  constexpr char kCall[] = "cuMemAddressReserve";
  if (bytes == 0 || !Aligned(bytes) || (alignment & (alignment - 1)) != 0) {
    return Broken("reserve-misaligned", kCall, alignment, bytes);
  }
  if (flags != 0) return Broken("reserve-flags", kCall, flags, bytes);
  const DevicePointer reserved = ReserveAligned(
      bytes, alignment < granularity_ ? granularity_ : alignment);
  if (reserved == 0) return Result::kOutOfMemory;
  reservations_.emplace(reserved, bytes);
  *address = reserved;
  return Result::kSuccess;
}

Result FakeMemory::Free(DevicePointer address, size_t bytes) {
  constexpr char kCall[] = "cuMemAddressFree";
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != bytes) {
    return Broken("free-not-exact", kCall, address, bytes);
  }
  if (CountMappings(address, bytes) > 0) {
    return Broken("free-while-mapped", kCall, address, bytes);
  }
  munmap(Pointer(address), bytes);
  reservations_.erase(found);
  return Result::kSuccess;
}

Result FakeMemory::Create(AllocationHandle* handle, size_t bytes,
                          const AllocationProperties* properties,
                          unsigned long long flags) {
  constexpr char kCall[] = "cuMemCreate";
  if (bytes == 0 || !Aligned(bytes)) {
    return Broken("create-misaligned", kCall, 0, bytes);
  }
  if (flags != 0) return Broken("create-flags", kCall, flags, bytes);
  if (properties->type != AllocationType::kPinned ||
      properties->requested_handle_types != 0 ||
      properties->location.type != LocationType::kDevice ||
      properties->location.id != 0 ||
      properties->win32_handle_meta_data != nullptr) {
    return Broken("create-properties", kCall, 0, bytes);
  }
  if (bytes > free()) return Result::kOutOfMemory;
  const auto offset = file_->Take(bytes);
  if (!offset.ok()) return Result::kOutOfMemory;
  const std::string junk(std::min(bytes, 64 * kKiB), '\xC3');
  RK_CHECK(
      pwrite(file_->descriptor(), junk.data(), junk.size(),
             static_cast<off_t>(*offset)) == static_cast<ssize_t>(junk.size()),
      "the memory file takes bytes");
  used_ += bytes;
  *handle = next_handle_++;
  Handle& created = handles_[*handle];
  created.bytes = bytes;
  created.offset = *offset;
  return Result::kSuccess;
}

Result FakeMemory::Release(AllocationHandle handle) {
  constexpr char kCall[] = "cuMemRelease";
  const auto found = handles_.find(handle);
  if (found == handles_.end()) {
    return handle < next_handle_ && handle >= 0x7001
               ? Broken("double-release", kCall, handle, 0)
               : Broken("unknown-handle", kCall, handle, 0);
  }
  if (found->second.released) return Broken("double-release", kCall, handle, 0);
  found->second.released = true;
  FreeIfUnused(handle);
  return Result::kSuccess;
}

void FakeMemory::FreeIfUnused(AllocationHandle handle) {
  const auto found = handles_.find(handle);
  if (!found->second.released || found->second.mappings > 0) return;
  file_->Give(found->second.offset, found->second.bytes);
  used_ -= found->second.bytes;
  handles_.erase(found);
}

Result FakeMemory::Map(DevicePointer address, size_t bytes, size_t offset,
                       AllocationHandle handle, unsigned long long flags) {
  constexpr char kCall[] = "cuMemMap";
  const auto found = handles_.find(handle);
  if (found == handles_.end() || found->second.released) {
    return Broken("unknown-handle", kCall, address, bytes);
  }
  Handle& chunk = found->second;
  if (offset != 0) return Broken("map-offset", kCall, address, bytes);
  if (flags != 0) return Broken("map-flags", kCall, address, bytes);
  if (!Aligned(address) || !Aligned(bytes)) {
    return Broken("map-misaligned", kCall, address, bytes);
  }
  if (bytes != chunk.bytes) return Broken("map-size", kCall, address, bytes);
  if (!Reserved(address, bytes)) {
    return Broken("map-outside-reservation", kCall, address, bytes);
  }
  if (CountMappings(address, bytes) > 0) {
    return Broken("map-on-mapped", kCall, address, bytes);
  }
  if (mmap(Pointer(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
           file_->descriptor(),
           static_cast<off_t>(chunk.offset)) == MAP_FAILED) {
    return Result::kOutOfMemory;
  }
  ++chunk.mappings;
  mappings_[address] = {bytes, handle, /*accessible=*/false};
  return Result::kSuccess;
}

Result FakeMemory::Unmap(DevicePointer address, size_t bytes) {
  constexpr char kCall[] = "cuMemUnmap";
  if (bytes == 0 || !Aligned(address) || !Aligned(bytes)) {
    return Broken("unmap-misaligned", kCall, address, bytes);
  }
  if (MappedUntil(address, /*accessible=*/false) < address + bytes) {
    return Broken("unmap-not-mapped", kCall, address, bytes);
  }
  const auto begin = mappings_.find(address);
  const auto end = mappings_.lower_bound(address + bytes);
  const auto last = std::prev(end);
  if (begin == mappings_.end() ||
      last->first + last->second.bytes != address + bytes) {
    return Broken("unmap-partial", kCall, address, bytes);
  }
  const void* const sealed =
      mmap(Pointer(address), bytes, PROT_NONE, kReserved | MAP_FIXED, -1, 0);
  RK_CHECK(sealed != MAP_FAILED, "the process is out of mappings");
  for (auto mapping = begin; mapping != end; ++mapping) {
    --handles_[mapping->second.handle].mappings;
    FreeIfUnused(mapping->second.handle);
  }
  mappings_.erase(begin, end);
  return Result::kSuccess;
}

Result FakeMemory::SetAccess(DevicePointer address, size_t bytes,
                             const AccessDescription* access, size_t count) {
  constexpr char kCall[] = "cuMemSetAccess";
  if (bytes == 0 || !Aligned(address) || !Aligned(bytes)) {
    return Broken("access-misaligned", kCall, address, bytes);
  }
  if (count != 1 || access->location.type != LocationType::kDevice ||
      access->location.id != 0 || access->flags != AccessFlags::kReadWrite) {
    return Broken("access-description", kCall, address, bytes);
  }
  const auto first = FirstAfter(address);
  const DevicePointer end = address + bytes;
  if (MappedUntil(address, /*accessible=*/false) < end) {
    return Broken("access-partly-mapped", kCall, address, bytes);
  }
  RK_CHECK(mprotect(Pointer(address), bytes, PROT_READ | PROT_WRITE) == 0,
           "mprotect of mapped pages");
  for (auto mapping = first; mapping != mappings_.end() && mapping->first < end;
       ++mapping) {
    mappings_[mapping->first].accessible = true;
  }
  return Result::kSuccess;
}

DevicePointer FakeMemory::AllocateForProgram(size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  RK_CHECK(mapped != MAP_FAILED, "no memory for the program");
  const auto address = reinterpret_cast<DevicePointer>(mapped);
  program_.emplace(address, bytes);
  return address;
}

std::string FakeMemory::CheckAccess(DevicePointer address, size_t bytes) const {
  const auto after = program_.upper_bound(address);
  if (after != program_.begin()) {
    const auto [start, size] = *std::prev(after);
    if (address + bytes <= start + size) return "";
  }
  if (!Reserved(address, bytes)) return "access-unknown";
  if (MappedUntil(address, /*accessible=*/false) < address + bytes) {
    return "access-unmapped";
  }
  const bool accessible =
      MappedUntil(address, /*accessible=*/true) >= address + bytes;
  return accessible ? "" : "access-not-set";
}

bool FakeMemory::Reserved(DevicePointer address, size_t bytes) const {
  const auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return false;
  const auto [start, size] = *std::prev(after);
  return address - start <= size && bytes <= size - (address - start);
}

FakeMemory::Mappings::const_iterator FakeMemory::FirstAfter(
    DevicePointer address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return after;
  const auto before = std::prev(after);
  return before->first + before->second.bytes > address ? before : after;
}

DevicePointer FakeMemory::MappedUntil(DevicePointer address,
                                      bool accessible) const {
  DevicePointer end = address;
  for (auto mapping = FirstAfter(address);
       mapping != mappings_.end() && mapping->first <= end &&
       (mapping->second.accessible || !accessible);
       ++mapping) {
    end = mapping->first + mapping->second.bytes;
  }
  return end;
}

int64_t FakeMemory::CountMappings(DevicePointer address, size_t bytes) const {
  int64_t count = 0;
  for (auto mapping = FirstAfter(address);
       mapping != mappings_.end() && mapping->first < address + bytes;
       ++mapping) {
    ++count;
  }
  return count;
}

int64_t FakeMemory::handles() const {
  int64_t count = 0;
  for (const auto& [id, handle] : handles_) count += !handle.released;
  return count;
}

int64_t FakeMemory::reservations() const {
  return static_cast<int64_t>(reservations_.size());
}

int64_t FakeMemory::mappings() const {
  return static_cast<int64_t>(mappings_.size());
}

}  // namespace rekindle::cuda
