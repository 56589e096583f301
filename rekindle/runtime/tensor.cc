// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/tensor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/runtime/core.h"

namespace rekindle {

ReadGuard::ReadGuard(ReadGuard&& other) noexcept
    : pin_(std::move(other.pin_)), address_(std::exchange(other.address_, 0)) {}

ReadGuard& ReadGuard::operator=(ReadGuard&& other) noexcept {
  pin_ = std::move(other.pin_);
  address_ = std::exchange(other.address_, 0);
  return *this;
}

ReadGuard::~ReadGuard() = default;

void ReadGuard::End() {
  pin_ = nullptr;
  address_ = 0;
}

// Here, because some compilers cannot see through an inlined empty shape.
Tensor::Tensor() noexcept = default;

absl::Status Tensor::status() const {
  if (variable_ != nullptr) return absl::OkStatus();
  return status_.ok() ? absl::FailedPreconditionError("empty tensor") : status_;
}

internal::Core& Tensor::core() const { return *variable_->core; }

absl::StatusOr<ReadGuard> Tensor::Read(Stream stream, Site site) const {
  RK_RETURN_IF_ERROR(status());
  RK_RETURN_IF_ERROR(core().CheckHoldsBytes());
  return core().Read(*this, stream, site);
}

absl::StatusOr<ReadGuard> Tensor::Keep(Site site) const {
  RK_RETURN_IF_ERROR(status());
  return core().Read(*this, Stream{}, site);
}

absl::StatusOr<WriteGuard> Tensor::Write(Stream stream, Site site) {
  RK_RETURN_IF_ERROR(status());
  RK_RETURN_IF_ERROR(core().CheckHoldsBytes());
  return core().Write(*this, stream, site);
}

absl::Status Tensor::ToHost(void* to, size_t bytes, Site site) const {
  RK_RETURN_IF_ERROR(status());
  return core().ToHost(*this, to, bytes, site);
}

Tensor Tensor::Reshape(Shape shape) const {
  if (variable_ == nullptr) return *this;
  Tensor view = *this;
  view.spec_.shape = std::move(shape);
  if (view.spec_.Validate().ok() && view.bytes() == bytes()) return view;
  return core().Failed(
      view.spec_,
      absl::InvalidArgumentError(absl::StrCat(
          ToString(spec_), " cannot be reshaped to ", ToString(view.shape()))));
}

Tensor Tensor::Slice(int64_t begin, int64_t end) const {
  if (variable_ == nullptr) return *this;
  Tensor view = *this;
  if (spec_.shape.empty() || begin < 0 || begin > end || end > dim(0)) {
    return core().Failed(spec_, absl::InvalidArgumentError(absl::StrCat(
                                    "rows [", begin, ", ", end, ") are not in ",
                                    ToString(spec_))));
  }
  if (begin == end) {
    view.spec_.shape[0] = 0;
    return view;
  }
  const size_t row = bytes() / static_cast<size_t>(dim(0));
  view.spec_.shape[0] = end - begin;
  view.offset_ += row * static_cast<size_t>(begin);
  return view;
}

Tensor Tensor::Snapshot() const {
  if (variable_ == nullptr) return *this;
  return core().Snapshot(*this);
}

absl::Status Tensor::Detach(Site site) {
  RK_RETURN_IF_ERROR(status());
  return core().Detach(*this, site);
}

bool Tensor::Evict() { return variable_ != nullptr && core().Evict(*this); }

const Device& Tensor::device() const { return core().device(); }

bool Tensor::resident() const {
  return variable_ != nullptr && core().IsResident(*this);
}

namespace internal {

Variable::Variable(std::shared_ptr<Core> owner, StorageId first, size_t size,
                   Kind what, Label named)
    : core(std::move(owner)),
      storage(first),
      bytes(size),
      kind(what),
      label(std::move(named)) {}

Variable::~Variable() { core->DropReference(storage); }

Pin::Pin(std::shared_ptr<Core> owner, StorageId pinned, Stream reader)
    : core(std::move(owner)),
      storage(pinned),
      stream(reader),
      thread(std::this_thread::get_id()) {}

Pin::~Pin() { core->EndPin(*this); }

}  // namespace internal
}  // namespace rekindle
