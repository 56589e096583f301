// SPDX-License-Identifier: Apache-2.0
// A handle to a value that may or may not be on the device at this moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/device/device.h"
#include "rekindle/runtime/site.h"
#include "rekindle/runtime/spec.h"

namespace rekindle {

namespace internal {
class Core;
struct Pin;
struct Variable;
}  // namespace internal

// While it lives, the tensor's bytes stay on the device at `address()`.
// Move-only; its end is put in order on the stream it was made for, so the
// reader's queued work finishes before the bytes are used again.
class ReadGuard {
 public:
  ReadGuard() = default;
  ReadGuard(ReadGuard&& other) noexcept;
  ReadGuard& operator=(ReadGuard&& other) noexcept;
  ~ReadGuard();

  DeviceAddress address() const { return address_; }
  template <typename T>
  const T* data() const {
    return reinterpret_cast<const T*>(address_);
  }

  // Ends the guard before its scope does.
  void End();

 private:
  friend class internal::Core;
  std::shared_ptr<internal::Pin> pin_;
  DeviceAddress address_ = 0;
};

// As ReadGuard, for changing the bytes of a constant in place.
class WriteGuard {
 public:
  WriteGuard() = default;
  WriteGuard(WriteGuard&&) noexcept = default;
  WriteGuard& operator=(WriteGuard&&) noexcept = default;

  DeviceAddress address() const { return guard_.address(); }
  template <typename T>
  T* data() const {
    return reinterpret_cast<T*>(guard_.address());
  }
  void End() { guard_.End(); }

 private:
  friend class internal::Core;
  ReadGuard guard_;
};

// Copying a Tensor copies the handle: both name the same variable and see its
// updates in place. When the last handle goes, so does what it holds. A tensor
// made from one that failed carries the first error; nothing runs for it.
// Thread-safe as far as the runtime is; one handle object is
// thread-compatible, like a shared_ptr. A handle may outlive its Runtime.
class Tensor {
 public:
  // Names nothing; status() says so.
  Tensor() noexcept;

  // OK, or the first error on the way to this tensor.
  absl::Status status() const;
  // Shape and type, known even if the tensor carries an error.
  const Spec& spec() const { return spec_; }
  const Shape& shape() const { return spec_.shape; }
  int64_t dim(int i) const { return spec_.shape[static_cast<size_t>(i)]; }
  size_t bytes() const { return spec_.bytes(); }
  int64_t elements() const { return spec_.elements(); }

  // Makes the value resident, recomputing it if need be, and pins it. Work of
  // `stream` submitted later sees it. Errors: the tensor's own;
  // ResourceExhausted if the budget cannot hold what is needed; a kernel's;
  // FailedPrecondition on a device that only counts, which has nothing to read.
  absl::StatusOr<ReadGuard> Read(Stream stream = {},
                                 Site site = Site::Current()) const;

  // As Read, for a constant (FailedPrecondition for any other). Whatever else
  // needs the old bytes is made safe first; an error leaves all as it was.
  // While the guard lives, calls, reads, snapshots and further writes of the
  // variable fail with FailedPrecondition.
  absl::StatusOr<WriteGuard> Write(Stream stream = {},
                                   Site site = Site::Current());

  // Copies the value to host memory and waits for it. `bytes` must be
  // bytes(). Errors: as Read; InvalidArgument for a wrong size.
  absl::Status ToHost(void* to, size_t bytes,
                      Site site = Site::Current()) const;
  // REQUIRES: sizeof(T) is the element size (T of any size for Bytes).
  template <typename T>
  absl::StatusOr<std::vector<T>> ToHost(Site site = Site::Current()) const {
    if (absl::Status own = this->status(); !own.ok()) return own;
    if (bytes() % sizeof(T) != 0) {
      return absl::InvalidArgumentError("the bytes are no whole number of T");
    }
    std::vector<T> values(bytes() / sizeof(T));
    absl::Status status = ToHost(values.data(), bytes(), site);
    if (!status.ok()) return status;
    return values;
  }

  // The same bytes under another shape. An error tensor (InvalidArgument) if
  // the sizes in bytes differ.
  Tensor Reshape(Shape shape) const;
  // Rows [begin, end) of the first dimension, sharing the bytes. An error
  // tensor if out of range.
  Tensor Slice(int64_t begin, int64_t end) const;

  // A handle to the value as it is now: later updates in place of the variable
  // do not show in it. Costs nothing until such an update happens.
  Tensor Snapshot() const;

  // Makes the value resident and forgets how it was made: a constant from now
  // on, never given up. Errors: as Read.
  absl::Status Detach(Site site = Site::Current());

  // Makes the value resident and keeps it so while the guard lives; on a
  // device that only counts too.
  absl::StatusOr<ReadGuard> Keep(Site site = Site::Current()) const;

  // For tests and tools: gives the bytes up now if they can be recomputed.
  // False if they cannot, are pinned, or are not on the device.
  bool Evict();
  bool resident() const;

  // Where it lives. REQUIRES: status() is OK.
  const Device& device() const;

 private:
  friend class Runtime;
  friend class internal::Core;

  // REQUIRES: there is a variable.
  internal::Core& core() const;

  std::shared_ptr<internal::Variable> variable_;
  size_t offset_ = 0;  // bytes from the start of the storage
  Spec spec_;
  // Why there is no variable; OK if nothing ever was.
  absl::Status status_;
};

}  // namespace rekindle
