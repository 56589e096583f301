// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "rekindle/engine/types.h"
#include "rekindle/runtime/generator.h"
#include "rekindle/runtime/kernel.h"

namespace rekindle::internal {

class Core;

// A kernel with all that it is given besides addresses, so that every run of
// it does the same. Thread-compatible.
class StoredKernel {
 public:
  // `core` outlives it. `offsets`: one an input, bytes from its storage's
  // start; or empty: all 0.
  StoredKernel(Core& core, Kernel kernel, Label label,
               std::vector<size_t> offsets, PhiloxDraw random, double seconds)
      : core_(core),
        kernel_(std::move(kernel)),
        label_(std::move(label)),
        offsets_(std::move(offsets)),
        random_(random),
        seconds_(seconds) {}

  // Errors name the call; an exception becomes INTERNAL.
  absl::Status Run(const KernelBinding& binding);

  // Whose kernel it is.
  Core& core() const { return core_; }
  // Modelled time of one run.
  double seconds() const { return seconds_; }

 private:
  absl::Status RunUnnamed(const KernelBinding& binding);

  Core& core_;
  Kernel kernel_;
  const Label label_;
  const std::vector<size_t> offsets_;
  const PhiloxDraw random_;
  const double seconds_;
};

}  // namespace rekindle::internal
