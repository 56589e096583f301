// SPDX-License-Identifier: Apache-2.0
#include "examples/foreign_tensors/arrays.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/host/host_device.h"
#include "rekindle/evictor/policies.h"

namespace arrays {

using rekindle::CallSpec;
using rekindle::KernelBinding;
using rekindle::StorageId;

absl::StatusOr<std::unique_ptr<Workspace>> Workspace::Open(size_t budget) {
  auto workspace = absl::WrapUnique(new Workspace);
  rekindle::HostDeviceOptions device_options;
  device_options.capacity = rekindle::RoundUp(budget, rekindle::kMiB);
  auto device = rekindle::HostDevice::Open(device_options);
  if (!device.ok()) return device.status();
  workspace->device_ = std::move(*device);
  rekindle::VmmAllocatorOptions options;
  options.budget = budget;
  auto allocator = rekindle::VmmAllocator::Create(*workspace->device_, options);
  if (!allocator.ok()) return allocator.status();
  workspace->allocator_ = std::move(*allocator);
  auto policy = rekindle::MakePolicy("dtr_eq:release=lazy");
  if (!policy.ok()) return policy.status();
  workspace->engine_ = std::make_unique<rekindle::Engine>(
      *workspace->device_, *workspace->allocator_, std::move(*policy));
  return workspace;
}

Array Workspace::FromHost(Shape shape, const std::vector<float>& values) {
  if (!status_.ok()) return {};
  const auto storage =
      engine_->AddConstant(shape.bytes(), rekindle::Kind::kOther, {"array"});
  if (!storage.ok()) {
    status_ = storage.status();
    return {};
  }
  Array array(this, *storage, shape);
  const auto address = engine_->Pin(*storage, {"fill"});
  if (!address.ok()) {
    status_ = address.status();
    return {};
  }
  status_ = device_->CopyFromHost(*address, values.data(), shape.bytes(), {});
  engine_->Unpin(*storage);
  return array;
}

std::vector<float> Workspace::ToHost(const Array& array) {
  std::vector<float> values(array.shape().size());
  if (!status_.ok()) return values;
  const auto address = engine_->Pin(array.storage_, {"read"});
  if (!address.ok()) {
    status_ = address.status();
    return values;
  }
  status_ =
      device_->CopyToHost(values.data(), *address, array.shape().bytes(), {});
  engine_->Unpin(array.storage_);
  return values;
}

Array Workspace::Compute(const std::string& name,
                         std::initializer_list<Array> inputs, Shape shape,
                         double flops, Kernel kernel) {
  if (!status_.ok()) return {};
  CallSpec spec;
  spec.label = name;
  for (const Array& input : inputs) spec.inputs.push_back(input.storage_);
  spec.output_bytes = {shape.bytes()};
  spec.cost = flops;  // any unit, as long as all calls have the same
  spec.execute = [kernel = std::move(kernel)](const KernelBinding& binding) {
    std::vector<const float*> in;
    for (rekindle::DeviceAddress address : binding.inputs) {
      in.push_back(reinterpret_cast<const float*>(address));
    }
    kernel(in, reinterpret_cast<float*>(binding.outputs[0]));
    return absl::OkStatus();
  };
  const auto result = engine_->Run(std::move(spec));
  if (!result.ok()) {
    status_ = result.status();
    return {};
  }
  return Array(this, result->outputs[0], shape);
}

void Workspace::Descend(Array& target, const Array& gradient, float rate) {
  if (!status_.ok()) return;
  const size_t n = target.shape().size();
  CallSpec spec;
  spec.label = {"descend"};
  spec.inputs = {target.storage_, gradient.storage_};
  spec.mutates = {0};
  spec.execute = [n, rate](const KernelBinding& binding) {
    auto* x = reinterpret_cast<float*>(binding.inputs[0]);
    const auto* g = reinterpret_cast<const float*>(binding.inputs[1]);
    for (size_t i = 0; i < n; ++i) x[i] -= rate * g[i];
    return absl::OkStatus();
  };
  const auto result = engine_->Run(std::move(spec));
  if (result.ok()) {
    target.storage_ = result->updated[0];  // took over our reference
  } else {
    status_ = result.status();
  }
}

Array::Array(const Array& other)
    : workspace_(other.workspace_),
      storage_(other.storage_),
      shape_(other.shape_) {
  if (workspace_ != nullptr) workspace_->engine_->AddReference(storage_);
}

Array::~Array() {
  if (workspace_ != nullptr) workspace_->engine_->DropReference(storage_);
}

namespace {

// out[i, j] = sum over l of a[i, l] * b[l, j], with the strides of each.
struct Strides {
  size_t row;
  size_t column;
};

Array Product(Workspace& ws, const Array& a, Strides as, const Array& b,
              Strides bs, Shape shape, size_t inner) {
  const double flops = 2.0 * static_cast<double>(shape.size() * inner);
  return ws.Compute("matmul", {a, b}, shape, flops,
                    [=](const std::vector<const float*>& in, float* out) {
                      std::fill_n(out, shape.size(), 0.0f);
                      for (size_t i = 0; i < shape.rows; ++i) {
                        for (size_t l = 0; l < inner; ++l) {
                          const float x = in[0][i * as.row + l * as.column];
                          for (size_t j = 0; j < shape.columns; ++j) {
                            out[i * shape.columns + j] +=
                                x * in[1][l * bs.row + j * bs.column];
                          }
                        }
                      }
                    });
}

template <typename Function>
Array Elementwise(Workspace& ws, const char* name,
                  std::initializer_list<Array> inputs, Function function) {
  const Shape shape = inputs.begin()->shape();
  return ws.Compute(name, inputs, shape, static_cast<double>(shape.size()),
                    [=](const std::vector<const float*>& in, float* out) {
                      for (size_t i = 0; i < shape.size(); ++i) {
                        out[i] = function(in, i);
                      }
                    });
}

}  // namespace

Array MatMul(Workspace& ws, const Array& a, const Array& b) {
  return Product(ws, a, {a.shape().columns, 1}, b, {b.shape().columns, 1},
                 {a.shape().rows, b.shape().columns}, a.shape().columns);
}

Array MatMulTransposedA(Workspace& ws, const Array& a, const Array& b) {
  return Product(ws, a, {1, a.shape().columns}, b, {b.shape().columns, 1},
                 {a.shape().columns, b.shape().columns}, a.shape().rows);
}

Array MatMulTransposedB(Workspace& ws, const Array& a, const Array& b) {
  return Product(ws, a, {a.shape().columns, 1}, b, {1, b.shape().columns},
                 {a.shape().rows, b.shape().rows}, a.shape().columns);
}

Array Relu(Workspace& ws, const Array& x) {
  return Elementwise(ws, "relu", {x}, [](const auto& in, size_t i) {
    return std::max(in[0][i], 0.0f);
  });
}

Array ReluBackward(Workspace& ws, const Array& x, const Array& gradient) {
  return Elementwise(
      ws, "relu_backward", {x, gradient},
      [](const auto& in, size_t i) { return in[0][i] > 0 ? in[1][i] : 0.0f; });
}

Array Subtract(Workspace& ws, const Array& a, const Array& b) {
  return Elementwise(ws, "subtract", {a, b}, [](const auto& in, size_t i) {
    return in[0][i] - in[1][i];
  });
}

}  // namespace arrays
