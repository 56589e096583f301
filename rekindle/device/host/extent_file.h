// SPDX-License-Identifier: Apache-2.0
// Extents of one memory file: the physical memory of the host device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"

namespace rekindle {

// Hands out ranges of a memfd, lowest offset first, so that extents taken one
// after another can often be mapped by one mmap. Thread-compatible.
class ExtentFile {
 public:
  static absl::StatusOr<std::unique_ptr<ExtentFile>> Create();
  ~ExtentFile();
  ExtentFile(const ExtentFile&) = delete;
  ExtentFile& operator=(const ExtentFile&) = delete;

  int descriptor() const { return descriptor_; }

  // The offset of `bytes` bytes of the file that nobody else has. Their pages
  // are taken from the system when they are first touched.
  // Errors: ResourceExhausted when the file cannot grow.
  absl::StatusOr<uint64_t> Take(size_t bytes);

  // Ends an extent; its pages go back to the system. (Where the system cannot
  // punch holes they stay until the extent is taken again.)
  void Give(uint64_t offset, size_t bytes);

 private:
  explicit ExtentFile(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
  uint64_t size_ = 0;
  absl::btree_map<uint64_t, uint64_t> free_;  // offset -> bytes, coalesced
};

}  // namespace rekindle
