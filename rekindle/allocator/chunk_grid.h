// SPDX-License-Identifier: Apache-2.0
// Where chunks begin.
#pragma once

#include <bit>
#include <cstddef>

#include "rekindle/device/device.h"

namespace rekindle {

// The multiples of a chunk's size. As RoundUp and RoundDown of base/units.h,
// without a division where the size is a power of two.
class ChunkGrid {
 public:
  explicit ChunkGrid(size_t bytes)
      : bytes_(bytes),
        mask_(std::has_single_bit(bytes) ? bytes - 1 : 0),
        shift_(std::countr_zero(bytes)) {}

  size_t bytes() const { return bytes_; }

  // How far into its chunk the address is.
  size_t Offset(DeviceAddress address) const {
    return mask_ != 0 ? address & mask_ : address % bytes_;
  }
  DeviceAddress Down(DeviceAddress address) const {
    return address - Offset(address);
  }
  DeviceAddress Up(DeviceAddress address) const {
    const size_t offset = Offset(address);
    return offset == 0 ? address : address + (bytes_ - offset);
  }
  // How many chunks `bytes` make; what is left over does not count.
  size_t Count(size_t bytes) const {
    return mask_ != 0 ? bytes >> shift_ : bytes / bytes_;
  }

 private:
  size_t bytes_;
  size_t mask_;  // 0: not a power of two
  int shift_;
};

}  // namespace rekindle
