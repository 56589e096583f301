// SPDX-License-Identifier: Apache-2.0
// Bytes that kernels of the fake driver write and compare.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "tests/allocator/stream_workload.h"
#include "tests/device/cuda/fake_test.h"

namespace rekindle::cuda {

// Kernels that only run when the fake driver has them.
class KernelBytes : public StreamBytes {
 public:
  explicit KernelBytes(FakeDriver& driver) : driver_(driver) {}

  absl::Status Write(Block block, uint8_t content, Stream stream) override {
    auto* const bytes = reinterpret_cast<uint8_t*>(block.address);  // NOLINT
    return Launch(block, stream,
                  [=] { std::fill_n(bytes, block.bytes, content); });
  }

  absl::Status Check(Block block, uint8_t content, Stream stream) override {
    const auto* const bytes =
        reinterpret_cast<const uint8_t*>(block.address);  // NOLINT
    return Launch(block, stream, [=, this] {
      const auto equal = std::count(bytes, bytes + block.bytes, content);
      wrong_ += static_cast<size_t>(equal) == block.bytes ? 0 : 1;
    });
  }

  int64_t wrong() const override { return wrong_; }

 private:
  absl::Status Launch(Block block, Stream stream, std::function<void()> run) {
    const Result result = driver_.Launch(
        ToDriver(stream), {{block.address, block.bytes}}, std::move(run));
    if (result == Result::kSuccess) return absl::OkStatus();
    return absl::InternalError("launch");
  }

  FakeDriver& driver_;
  int64_t wrong_ = 0;
};

}  // namespace rekindle::cuda
