// SPDX-License-Identifier: Apache-2.0
// Catches kernels that do not do what their calls declare. Internal to engine/.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/records.h"
#include "rekindle/engine/types.h"

namespace rekindle {

// Around each run of a kernel it hashes, on the host, the inputs that the call
// only reads, which must stay as they are, and the outputs, which a repetition
// must make as they were. Waits for the stream at every value; meant for
// finding faults. Thread-compatible.
class Verifier {
 public:
  explicit Verifier(Device& device) : device_(device) {}

  absl::Status Before(const Call& call, const KernelBinding& binding);
  // FailedPrecondition that names the call if it is not what it says.
  absl::Status After(Call& call, const KernelBinding& binding);

 private:
  using Hashes = std::vector<uint64_t>;

  absl::StatusOr<uint64_t> Hash(DeviceAddress address, size_t bytes,
                                Stream stream);
  absl::StatusOr<Hashes> InputHashes(const Call& call,
                                     const KernelBinding& binding);
  absl::StatusOr<Hashes> OutputHashes(const Call& call,
                                      const KernelBinding& binding);

  Device& device_;
  Hashes inputs_;  // of the running call
  std::vector<char> buffer_;
};

}  // namespace rekindle
