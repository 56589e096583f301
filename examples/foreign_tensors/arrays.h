// SPDX-License-Identifier: Apache-2.0
// A small array library as somebody else would have written it, with its own
// shapes, handles and kernels, that embeds Rekindle's engine: what it has to
// give are sizes, a kernel a call, and references.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/engine.h"

namespace arrays {

struct Shape {
  size_t rows = 0;
  size_t columns = 0;

  size_t size() const { return rows * columns; }
  size_t bytes() const { return size() * sizeof(float); }
};

class Array;

// Where arrays live. The first error stays, and every array made after it is
// empty: programs look once, at the end. Outlives its arrays.
class Workspace {
 public:
  // Physical memory stays within `budget` bytes.
  static absl::StatusOr<std::unique_ptr<Workspace>> Open(size_t budget);

  Array FromHost(Shape shape, const std::vector<float>& values);
  std::vector<float> ToHost(const Array& array);

  // Runs `kernel` on the bytes of `inputs`; it may run again at any later time.
  using Kernel =
      std::function<void(const std::vector<const float*>& inputs, float* out)>;
  Array Compute(const std::string& name, std::initializer_list<Array> inputs,
                Shape shape, double flops, Kernel kernel);
  // target[i] -= rate * gradient[i]
  void Descend(Array& target, const Array& gradient, float rate);

  const absl::Status& status() const { return status_; }
  const rekindle::Engine& engine() const { return *engine_; }
  size_t peak_bytes() const { return device_->memory_info().peak_created; }

 private:
  friend class Array;
  Workspace() = default;

  std::unique_ptr<rekindle::Device> device_;
  std::unique_ptr<rekindle::Allocator> allocator_;
  std::unique_ptr<rekindle::Engine> engine_;
  absl::Status status_;
};

// A handle: copies share the value, and each owns one reference of the engine.
class Array {
 public:
  Array() = default;
  Array(const Array& other);
  Array(Array&& other) noexcept { Swap(other); }
  Array& operator=(Array other) noexcept {
    Swap(other);
    return *this;
  }
  ~Array();

  const Shape& shape() const { return shape_; }

 private:
  friend class Workspace;
  // Takes over one reference.
  Array(Workspace* workspace, rekindle::StorageId storage, Shape shape)
      : workspace_(workspace), storage_(storage), shape_(shape) {}

  void Swap(Array& other) noexcept {
    std::swap(workspace_, other.workspace_);
    std::swap(storage_, other.storage_);
    std::swap(shape_, other.shape_);
  }

  Workspace* workspace_ = nullptr;  // null: empty
  rekindle::StorageId storage_;
  Shape shape_;
};

// The operations. `ws` is the workspace of all arrays given.
// a [m, k], b [k, n] -> [m, n]; with transposed a: a [k, m]; with b: b [n, k].
Array MatMul(Workspace& ws, const Array& a, const Array& b);
Array MatMulTransposedA(Workspace& ws, const Array& a, const Array& b);
Array MatMulTransposedB(Workspace& ws, const Array& a, const Array& b);
// max(x, 0)
Array Relu(Workspace& ws, const Array& x);
// gradient where x > 0, else 0
Array ReluBackward(Workspace& ws, const Array& x, const Array& gradient);
// a - b
Array Subtract(Workspace& ws, const Array& a, const Array& b);

}  // namespace arrays
