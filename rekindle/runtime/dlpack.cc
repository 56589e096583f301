// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/dlpack.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {
namespace {

// nullopt for a device that other libraries do not know.
std::optional<DLDevice> DeviceOf(const Device& device) {
  const std::string name = device.name();
  if (name == "host") return DLDevice{kDLCPU, 0};
  int ordinal = 0;
  if (absl::StartsWith(name, "cuda:") &&
      absl::SimpleAtoi(name.substr(5), &ordinal)) {
    return DLDevice{kDLCUDA, ordinal};
  }
  return std::nullopt;
}

DLDataType TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return {kDLFloat, 32, 1};
    case DType::kI32:
      return {kDLInt, 32, 1};
    case DType::kBytes:
      return {kDLUInt, 8, 1};
  }
  return {kDLUInt, 8, 1};
}

// What a consumer holds.
struct Lent {
  DLManagedTensor managed = {};
  ReadGuard guard;
  std::vector<int64_t> shape;
};

void GiveBack(DLManagedTensor* managed) {
  delete static_cast<Lent*>(managed->manager_ctx);
}

struct Deleter {
  void operator()(DLManagedTensor* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};
using Owned = std::unique_ptr<DLManagedTensor, Deleter>;

absl::Status Wrong(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("DLPack: ", what));
}

absl::Status CheckLayout(const DLTensor& tensor) {
  if (tensor.ndim < 0) return Wrong("a negative number of dimensions");
  if (tensor.ndim > 0 && tensor.shape == nullptr) return Wrong("no shape");
  if (tensor.strides == nullptr) return absl::OkStatus();
  int64_t stride = 1;
  for (int i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != stride) {
      return Wrong("there are gaps between elements: make it contiguous");
    }
    if (__builtin_mul_overflow(stride, tensor.shape[i], &stride)) {
      return Wrong("the shape is too large");
    }
  }
  return absl::OkStatus();
}

// The spec of a tensor whose layout was checked.
absl::StatusOr<Spec> SpecOf(const DLTensor& tensor) {
  Spec spec;
  spec.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  RK_RETURN_IF_ERROR(spec.Validate());
  const DLDataType type = tensor.dtype;
  if (type.lanes == 1 && type.bits == 32 && type.code == kDLFloat) return spec;
  if (type.lanes == 1 && type.bits == 32 && type.code == kDLInt) {
    spec.dtype = DType::kI32;
    return spec;
  }
  const int64_t bits = int64_t{type.bits} * type.lanes;
  int64_t total = 0;
  if (__builtin_mul_overflow(spec.elements(), bits, &total) || total % 8 != 0) {
    return Wrong("its elements are no whole number of bytes");
  }
  return Spec::Bytes(static_cast<size_t>(total / 8));
}

absl::StatusOr<Spec> Check(const Runtime& runtime,
                           const DLManagedTensor* managed) {
  if (managed == nullptr) return Wrong("no tensor");
  const DLTensor& tensor = managed->dl_tensor;
  const std::optional<DLDevice> device = DeviceOf(runtime.device());
  if (!device.has_value() || device->device_type != tensor.device.device_type ||
      device->device_id != tensor.device.device_id) {
    return Wrong(absl::StrCat("the tensor is not on ", runtime.device().name(),
                              ", the device of this runtime"));
  }
  RK_RETURN_IF_ERROR(CheckLayout(tensor));
  return SpecOf(tensor);
}

}  // namespace

absl::StatusOr<DLManagedTensor*> ExportDlpack(const Tensor& tensor,
                                              Stream stream, Site site) {
  RK_RETURN_IF_ERROR(tensor.status());
  const std::optional<DLDevice> device = DeviceOf(tensor.device());
  if (!device.has_value()) {
    return absl::UnimplementedError(absl::StrCat(
        "DLPack has no name for the device ", tensor.device().name()));
  }
  auto lent = std::make_unique<Lent>();
  RK_ASSIGN_OR_RETURN(lent->guard, tensor.Read(stream, site));
  lent->shape.assign(tensor.shape().begin(), tensor.shape().end());
  DLTensor& to = lent->managed.dl_tensor;
  to.data = reinterpret_cast<void*>(lent->guard.address());  // NOLINT
  to.device = *device;
  to.ndim = static_cast<int>(lent->shape.size());
  to.dtype = TypeOf(tensor.spec().dtype);
  to.shape = lent->shape.data();
  lent->managed.manager_ctx = lent.get();
  lent->managed.deleter = GiveBack;
  return &lent.release()->managed;
}

absl::StatusOr<Tensor> ImportDlpack(Runtime& runtime, DLManagedTensor* managed,
                                    ConstantOptions options, Site site) {
  Owned owned(managed);
  RK_ASSIGN_OR_RETURN(const Spec spec, Check(runtime, managed));
  const DLTensor& tensor = managed->dl_tensor;
  const DeviceAddress address =
      reinterpret_cast<DeviceAddress>(tensor.data) + tensor.byte_offset;
  const std::shared_ptr<DLManagedTensor> shared = std::move(owned);
  Tensor adopted = runtime.Adopt(
      spec, address, [shared] {}, std::move(options), site);
  RK_RETURN_IF_ERROR(adopted.status());
  return adopted;
}

}  // namespace rekindle
