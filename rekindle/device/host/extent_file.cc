// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/host/extent_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/units.h"

namespace rekindle {

absl::StatusOr<std::unique_ptr<ExtentFile>> ExtentFile::Create() {
  const int descriptor = memfd_create("rekindle-device", MFD_CLOEXEC);
  if (descriptor < 0) {
    return absl::UnavailableError(
        absl::StrCat("memfd_create: ", std::strerror(errno)));
  }
  return absl::WrapUnique(new ExtentFile(descriptor));
}

ExtentFile::~ExtentFile() { close(descriptor_); }

absl::StatusOr<uint64_t> ExtentFile::Take(size_t bytes) {
  for (auto extent = free_.begin(); extent != free_.end(); ++extent) {
    const auto [offset, size] = *extent;
    if (size < bytes) continue;
    free_.erase(extent);
    if (size > bytes) free_.emplace(offset + bytes, size - bytes);
    return offset;
  }
  const uint64_t offset = size_;
  if (ftruncate(descriptor_, static_cast<off_t>(offset + bytes)) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a chunk of ", FormatBytes(bytes),
                     ": ftruncate: ", std::strerror(errno)));
  }
  size_ = offset + bytes;
  return offset;
}

void ExtentFile::Give(uint64_t offset, size_t bytes) {
  fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(offset), static_cast<off_t>(bytes));
  auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + bytes) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace rekindle
