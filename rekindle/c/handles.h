// SPDX-License-Identifier: Apache-2.0
// What is behind the handles of the C interface. Internal to c/.
#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/c.h"
#include "rekindle/runtime/generator.h"
#include "rekindle/runtime/kernel.h"
#include "rekindle/runtime/runtime.h"
#include "rekindle/runtime/spec.h"
#include "rekindle/runtime/tensor.h"

struct rk_runtime {
  std::unique_ptr<rekindle::Runtime> runtime;
};
struct rk_tensor {
  rekindle::Tensor tensor;
};
struct rk_guard {
  rekindle::ReadGuard read;
  rekindle::WriteGuard write;  // one of the two
};
struct rk_generator {
  rekindle::Generator generator;
};
struct rk_scope {
  rekindle::Scope scope;
};
struct rk_kernel_args {
  const rekindle::KernelArgs& args;
  size_t inputs;
  size_t outputs;
};

namespace rekindle::c {

// Errors: InvalidArgument that names what is wrong, and `what`.
absl::StatusOr<Spec> SpecOf(const rk_spec* spec, absl::string_view what);
absl::StatusOr<Shape> ShapeOf(int rank, const int64_t* shape,
                              absl::string_view what);
absl::StatusOr<Kind> KindOf(rk_kind kind);
absl::StatusOr<Keep> KeepOf(rk_keep keep);

// A handle to a tensor that is no error; its error otherwise.
absl::Status Give(Tensor tensor, rk_tensor** out);

// Calls `end` with `user` when the last copy goes, if there is one.
std::shared_ptr<void> Owned(void* user, void (*end)(void* user));

// InvalidArgument unless `size` is that of this version's struct.
absl::Status CheckSize(size_t size, size_t expected, absl::string_view init);

}  // namespace rekindle::c
