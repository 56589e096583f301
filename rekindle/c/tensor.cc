// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <utility>

#include "rekindle/base/status_macros.h"
#include "rekindle/c/handles.h"
#include "rekindle/c/status.h"

using rekindle::c::Give;
using rekindle::c::Guarded;
using rekindle::c::KindOf;
using rekindle::c::Making;
using rekindle::c::NotNull;
using rekindle::c::ShapeOf;
using rekindle::c::SpecOf;

namespace {

absl::StatusOr<rekindle::ConstantOptions> Options(const char* name,
                                                  rk_kind kind) {
  rekindle::ConstantOptions options;
  if (name != nullptr) options.name = name;
  RK_ASSIGN_OR_RETURN(options.kind, KindOf(kind));
  return options;
}

// Runs `body` with the tensor behind the handle.
template <typename Body>
rk_status With(const rk_tensor* tensor, Body body) {
  return Guarded([&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(tensor, "the tensor"));
    return body(tensor->tensor);
  });
}

// The same, to make another tensor of it.
template <typename Body>
rk_status Derive(const rk_tensor* tensor, rk_tensor** out, Body body) {
  return Making(out, [&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(tensor, "the tensor"));
    RK_ASSIGN_OR_RETURN(rekindle::Tensor derived, body(tensor->tensor));
    return Give(std::move(derived), out);
  });
}

// The same, to pin it.
template <typename Body>
rk_status Pin(const rk_tensor* tensor, rk_guard** out, Body body) {
  return Making(out, [&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(tensor, "the tensor"));
    RK_ASSIGN_OR_RETURN(rekindle::ReadGuard guard, body(tensor->tensor));
    *out = new rk_guard{std::move(guard), {}};
    return absl::OkStatus();
  });
}

using TensorOr = absl::StatusOr<rekindle::Tensor>;

}  // namespace

rk_status rk_constant(rk_runtime* runtime, const rk_spec* spec,
                      const void* host, const char* name, rk_kind kind,
                      rk_tensor** tensor) {
  return Making(tensor, [&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(runtime, "the runtime"));
    RK_ASSIGN_OR_RETURN(const rekindle::Spec shape, SpecOf(spec, "the spec"));
    RK_ASSIGN_OR_RETURN(rekindle::ConstantOptions options, Options(name, kind));
    return Give(runtime->runtime->Constant(shape, host, std::move(options), {}),
                tensor);
  });
}

rk_status rk_adopt(rk_runtime* runtime, const rk_spec* spec, void* address,
                   void (*deleter)(void* user), void* user, const char* name,
                   rk_kind kind, rk_tensor** tensor) {
  // Its end is the deleter's call, wherever this fails.
  std::shared_ptr<void> owned = rekindle::c::Owned(user, deleter);
  return Making(tensor, [&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(runtime, "the runtime"));
    RK_ASSIGN_OR_RETURN(const rekindle::Spec shape, SpecOf(spec, "the spec"));
    RK_ASSIGN_OR_RETURN(rekindle::ConstantOptions options, Options(name, kind));
    return Give(runtime->runtime->Adopt(
                    shape, reinterpret_cast<uintptr_t>(address),
                    [owned = std::move(owned)]() mutable { owned.reset(); },
                    std::move(options), {}),
                tensor);
  });
}

void rk_tensor_release(rk_tensor* tensor) { delete tensor; }

rk_status rk_tensor_copy(const rk_tensor* tensor, rk_tensor** copy) {
  return Derive(tensor, copy,
                [](const rekindle::Tensor& t) { return TensorOr(t); });
}

rk_status rk_tensor_snapshot(const rk_tensor* tensor, rk_tensor** snapshot) {
  return Derive(tensor, snapshot, [](const rekindle::Tensor& t) {
    return TensorOr(t.Snapshot());
  });
}

rk_status rk_tensor_reshape(const rk_tensor* tensor, int rank,
                            const int64_t* shape, rk_tensor** view) {
  return Derive(tensor, view, [&](const rekindle::Tensor& t) -> TensorOr {
    RK_ASSIGN_OR_RETURN(rekindle::Shape made, ShapeOf(rank, shape, "reshape"));
    return t.Reshape(std::move(made));
  });
}

rk_status rk_tensor_slice(const rk_tensor* tensor, int64_t begin, int64_t end,
                          rk_tensor** view) {
  return Derive(tensor, view, [&](const rekindle::Tensor& t) {
    return TensorOr(t.Slice(begin, end));
  });
}

rk_status rk_tensor_spec(const rk_tensor* tensor, rk_spec* spec) {
  return With(tensor, [spec](const rekindle::Tensor& t) -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(spec, "where the spec goes"));
    switch (t.spec().dtype) {
      case rekindle::DType::kF32:
        spec->dtype = RK_F32;
        break;
      case rekindle::DType::kI32:
        spec->dtype = RK_I32;
        break;
      case rekindle::DType::kBytes:
        spec->dtype = RK_BYTES;
        break;
    }
    spec->rank = static_cast<int>(t.shape().size());
    spec->shape = t.shape().data();
    return absl::OkStatus();
  });
}

size_t rk_tensor_bytes(const rk_tensor* tensor) {
  return tensor == nullptr ? 0 : tensor->tensor.bytes();
}

rk_status rk_tensor_to_host(const rk_tensor* tensor, void* to, size_t bytes) {
  return With(tensor, [to, bytes](const rekindle::Tensor& t) -> absl::Status {
    if (bytes > 0) RK_RETURN_IF_ERROR(NotNull(to, "where the bytes go"));
    return t.ToHost(to, bytes, {});
  });
}

rk_status rk_tensor_detach(rk_tensor* tensor) {
  return With(tensor, [tensor](const rekindle::Tensor&) {
    return tensor->tensor.Detach({});
  });
}

int rk_tensor_evict(rk_tensor* tensor) {
  return tensor != nullptr && tensor->tensor.Evict() ? 1 : 0;
}

int rk_tensor_is_resident(const rk_tensor* tensor) {
  return tensor != nullptr && tensor->tensor.resident() ? 1 : 0;
}

rk_status rk_tensor_read(const rk_tensor* tensor, rk_stream stream,
                         rk_guard** guard) {
  return Pin(tensor, guard, [stream](const rekindle::Tensor& t) {
    return t.Read({stream}, {});
  });
}

rk_status rk_tensor_write(rk_tensor* tensor, rk_stream stream,
                          rk_guard** guard) {
  return Making(guard, [&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(tensor, "the tensor"));
    RK_ASSIGN_OR_RETURN(rekindle::WriteGuard made,
                        tensor->tensor.Write({stream}, {}));
    *guard = new rk_guard{{}, std::move(made)};
    return absl::OkStatus();
  });
}

rk_status rk_tensor_keep(const rk_tensor* tensor, rk_guard** guard) {
  return Pin(tensor, guard,
             [](const rekindle::Tensor& t) { return t.Keep({}); });
}

void* rk_guard_address(const rk_guard* guard) {
  if (guard == nullptr) return nullptr;
  const rekindle::DeviceAddress written = guard->write.address();
  return reinterpret_cast<void*>(written != 0 ? written
                                              : guard->read.address());
}

void rk_guard_release(rk_guard* guard) { delete guard; }
