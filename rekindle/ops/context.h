// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rekindle/ops/host/matmul.h"
#include "rekindle/ops/host/threads.h"
#include "rekindle/runtime/runtime.h"

namespace rekindle::ops {

// What every operator works with: the runtime, the number of threads of its
// kernels, which is fixed here once (results are only the same bits for the
// same number), and the matrix products prepared so far. Thread-safe. Outlives
// the Vars and Tapes made from it.
class Context {
 public:
  explicit Context(Runtime& runtime,
                   host::HostThreads threads = host::MaxHostThreads())
      : runtime_(runtime), threads_(threads) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Runtime& runtime() { return runtime_; }
  host::HostThreads threads() const { return threads_; }
  host::MatMulCache& matmuls() { return matmuls_; }

 private:
  Runtime& runtime_;
  const host::HostThreads threads_;
  host::MatMulCache matmuls_;
};

}  // namespace rekindle::ops
