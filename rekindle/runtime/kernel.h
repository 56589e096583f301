// SPDX-License-Identifier: Apache-2.0
// What a call declares of itself and what its kernel is given.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/types.h"
#include "rekindle/runtime/generator.h"

namespace rekindle {

// Arguments of one run of a kernel. Valid until the kernel returns; work that
// it puts on `stream()` may use the addresses in stream order.
class KernelArgs {
 public:
  KernelArgs(absl::Span<const DeviceAddress> inputs,
             absl::Span<const DeviceAddress> outputs, DeviceAddress workspace,
             PhiloxDraw random, Stream stream)
      : inputs_(inputs),
        outputs_(outputs),
        workspace_(workspace),
        random_(random),
        stream_(stream) {}

  // Elements of input `i`, which the call reads only.
  template <typename T>
  const T* input(int i) const {
    return reinterpret_cast<const T*>(inputs_[static_cast<size_t>(i)]);
  }
  // Elements of input `i` that the call mutates or has an effect on.
  template <typename T>
  T* inout(int i) const {
    return reinterpret_cast<T*>(inputs_[static_cast<size_t>(i)]);
  }
  // Elements of output `i`; undefined until written, and all must be written.
  template <typename T>
  T* output(int i) const {
    return reinterpret_cast<T*>(outputs_[static_cast<size_t>(i)]);
  }
  // `workspace_bytes` of scratch, undefined at the start, aligned to 256.
  void* workspace() const { return reinterpret_cast<void*>(workspace_); }
  // What to draw from, if the call named a generator.
  PhiloxDraw random() const { return random_; }
  Stream stream() const { return stream_; }

 private:
  absl::Span<const DeviceAddress> inputs_;
  absl::Span<const DeviceAddress> outputs_;
  DeviceAddress workspace_;
  PhiloxDraw random_;
  Stream stream_;
};

// The work of a call. It is stored and may run again at any later time, from
// another thread: it captures by value, never calls the runtime, and is a pure
// function of its arguments. An error must be returned before any mutated
// constant has changed. An exception becomes an INTERNAL error.
using Kernel = absl::AnyInvocable<absl::Status(KernelArgs&)>;

// What a call says of itself. All fields are optional.
struct CallOptions {
  std::string name = "call";
  // Arithmetic and memory traffic of one run, from which its cost is modelled.
  // bytes = 0: those of inputs and outputs.
  double flops = 0;
  double bytes = 0;
  // Inputs (by index) updated in place. Every tensor and view that shares the
  // storage sees the update.
  std::vector<int> mutates = {};
  // Inputs (by index) updated once, as a side effect on which the outputs do
  // not depend, such as running statistics. A recomputation gets scratch.
  std::vector<int> effects = {};
  // Where the call draws random numbers from.
  Generator* random = nullptr;
  size_t workspace_bytes = 0;
  // Where the kernel puts its work (KernelArgs::stream): one of this runtime's
  // or of the program's; the default one if not set. It is ordered after the
  // work on other streams that it depends on. A recomputation can be put on
  // the stream of whoever reads the result.
  Stream stream = {};
  // False: the call must never run again (a collective, a read of a file); its
  // outputs are kept as constants.
  bool pure = true;
  Keep keep = Keep::kDefault;
  // What the outputs are, for reports.
  Kind kind = Kind::kActivation;
};

}  // namespace rekindle
