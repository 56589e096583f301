// SPDX-License-Identifier: Apache-2.0
// How values enter the runtime.
#include <utility>

#include "rekindle/base/status_macros.h"
#include "rekindle/runtime/core.h"
#include "rekindle/runtime/named_error.h"

namespace rekindle::internal {
Tensor Core::Constant(const Spec& spec, const void* host,
                      const ConstantOptions& options, Site site) {
  const Label label = MakeLabel(options.name, site);
  const absl::StatusOr<StorageId> storage =
      AddConstant(spec, host, options.kind, label);
  if (!storage.ok()) return Failed(spec, storage.status());
  return MakeTensor(spec, *storage, options.kind, label);
}

absl::StatusOr<StorageId> Core::AddConstant(const Spec& spec, const void* host,
                                            Kind kind, const Label& label) {
  RK_RETURN_IF_ERROR(Named(label, RefuseInKernel()));
  RK_RETURN_IF_ERROR(Named(label, spec.Validate()));
  std::optional<Deadline> deadline;
  Section section(*this, label);
  absl::StatusOr<StorageId> storage;
  do {
    kernel_failed_ = false;
    storage = engine_->AddConstant(spec.bytes(), kind, label);
  } while (WaitForPins(storage.status(), deadline));
  if (!storage.ok()) return Explain(storage.status(), label);
  const absl::Status status = Initialize(*storage, spec.bytes(), host, label);
  if (status.ok()) return storage;
  engine_->DropReference(*storage);
  return Explain(status, label);
}

absl::Status Core::Initialize(StorageId storage, size_t bytes, const void* host,
                              const Label& label) {
  if (bytes == 0) return absl::OkStatus();
  // The pin is no part of the step: the engine alone sees it.
  Engine& engine = engine_->engine();
  const Stream stream = options_.stream;
  RK_ASSIGN_OR_RETURN(const DeviceAddress address,
                      engine.Pin(storage, label, stream));
  const absl::Status status =
      host != nullptr ? device_->CopyFromHost(address, host, bytes, stream)
                      : device_->Fill(address, 0, bytes, stream);
  engine.Unpin(storage, stream);
  return status;
}

Tensor Core::Adopt(const Spec& spec, DeviceAddress address,
                   std::function<void()> deleter,
                   const ConstantOptions& options, Site site) {
  const Label label = MakeLabel(options.name, site);
  absl::Status status = RefuseInKernel();
  if (status.ok()) status = spec.Validate();
  if (status.ok() && address == 0 && spec.bytes() > 0) {
    status = absl::InvalidArgumentError("no address to adopt");
  }
  if (!status.ok()) {
    if (deleter) deleter();
    return Failed(spec, Named(label, status));
  }
  // The deleter is the program's and may use the runtime: it runs outside.
  auto release = [this, deleter = std::move(deleter)]() {
    gate_.AssertInside();
    if (deleter) late_deleters_.push_back(deleter);
  };
  Section section(*this);
  const StorageId storage = engine_->AdoptConstant(
      address, spec.bytes(), options.kind, label, std::move(release));
  return MakeTensor(spec, storage, options.kind, label);
}

}  // namespace rekindle::internal
