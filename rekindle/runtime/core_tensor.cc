// SPDX-License-Identifier: Apache-2.0
// What handles ask of the core.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/runtime/core.h"
#include "rekindle/runtime/named_error.h"

namespace rekindle::internal {

absl::StatusOr<ReadGuard> Core::Read(const Tensor& tensor, Stream stream,
                                     Site site) {
  const Label by = LabelOf("read", tensor, site);
  RK_RETURN_IF_ERROR(Named(by, RefuseInKernel()));
  std::optional<Deadline> deadline;
  Section section(*this, by);
  const Variable& variable = *tensor.variable_;
  RK_RETURN_IF_ERROR(Named(by, RefuseWritten(variable)));
  absl::StatusOr<DeviceAddress> address;
  do {
    kernel_failed_ = false;
    address = engine_->Pin(variable.storage, by, InUse(stream));
  } while (WaitForPins(address.status(), deadline));
  if (!address.ok()) return Explain(address.status(), by);
  engine_->AddReference(variable.storage);
  return MakeGuard(variable.storage, *address + tensor.offset_, InUse(stream));
}

absl::StatusOr<WriteGuard> Core::Write(const Tensor& tensor, Stream stream,
                                       Site site) {
  const Label by = LabelOf("write", tensor, site);
  RK_RETURN_IF_ERROR(Named(by, RefuseInKernel()));
  std::optional<Deadline> deadline;
  Section section(*this, by);
  Variable& variable = *tensor.variable_;
  RK_RETURN_IF_ERROR(Named(by, RefuseWritten(variable)));
  absl::StatusOr<Engine::Writable> writable;
  do {
    kernel_failed_ = false;
    writable = engine_->PinForWrite(variable.storage, by, InUse(stream));
  } while (WaitForPins(writable.status(), deadline));
  if (!writable.ok()) return Explain(writable.status(), by);
  variable.storage = writable->storage;
  engine_->AddReference(variable.storage);
  WriteGuard guard;
  guard.guard_ = MakeGuard(variable.storage, writable->address + tensor.offset_,
                           InUse(stream));
  written_.insert(variable.storage);
  return guard;
}

ReadGuard Core::MakeGuard(StorageId storage, DeviceAddress address,
                          Stream stream) {
  ReadGuard guard;
  guard.pin_ = std::make_shared<Pin>(shared_from_this(), storage, stream);
  guard.address_ = address;
  ++pins_[guard.pin_->thread];
  ++stream_pins_[stream.handle];
  return guard;
}

absl::Status Core::ToHost(const Tensor& tensor, void* to, size_t bytes,
                          Site site) {
  if (bytes != tensor.bytes()) {
    return Named(LabelOf("read", tensor, site),
                 absl::InvalidArgumentError(absl::StrCat(
                     "room for ", bytes, " bytes, but ", ToString(tensor.spec_),
                     " has ", tensor.bytes())));
  }
  RK_ASSIGN_OR_RETURN(const ReadGuard guard, Read(tensor, Stream{}, site));
  if (bytes == 0) return absl::OkStatus();
  return device_->CopyToHost(to, guard.address(), bytes, InUse(Stream{}));
}

Tensor Core::Snapshot(const Tensor& tensor) {
  const absl::Status status = RefuseInKernel();
  if (!status.ok()) return Failed(tensor.spec_, status);
  Section section(*this);
  const Variable& variable = *tensor.variable_;
  const absl::Status written = RefuseWritten(variable);
  if (!written.ok()) return Failed(tensor.spec_, written);
  engine_->AddReference(variable.storage);
  Tensor snapshot = tensor;
  snapshot.variable_ =
      std::make_shared<Variable>(variable.core, variable.storage,
                                 variable.bytes, variable.kind, variable.label);
  return snapshot;
}

absl::Status Core::Detach(const Tensor& tensor, Site site) {
  const Label by = LabelOf("detach", tensor, site);
  RK_RETURN_IF_ERROR(Named(by, RefuseInKernel()));
  std::optional<Deadline> deadline;
  Section section(*this, by);
  absl::Status status;
  do {
    kernel_failed_ = false;
    status = engine_->Detach(tensor.variable_->storage);
  } while (WaitForPins(status, deadline));
  return status.ok() ? status : Explain(status, by);
}

bool Core::Evict(const Tensor& tensor) {
  if (gate_.InsideThisThread()) return false;
  Section section(*this);
  return engine_->engine().Evict(tensor.variable_->storage);
}

bool Core::IsResident(const Tensor& tensor) {
  if (gate_.InsideThisThread()) return false;
  Section section(*this);
  return engine_->engine().IsResident(tensor.variable_->storage);
}

}  // namespace rekindle::internal
