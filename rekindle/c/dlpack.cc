// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/dlpack.h"

#include <utility>

#include "rekindle/base/status_macros.h"
#include "rekindle/c/handles.h"
#include "rekindle/c/status.h"

using rekindle::c::Making;
using rekindle::c::NotNull;

rk_status rk_export_dlpack(const rk_tensor* tensor, rk_stream stream,
                           DLManagedTensor** managed) {
  return Making(managed, [&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(tensor, "the tensor"));
    RK_ASSIGN_OR_RETURN(*managed,
                        rekindle::ExportDlpack(tensor->tensor, {stream}, {}));
    return absl::OkStatus();
  });
}

rk_status rk_import_dlpack(rk_runtime* runtime, DLManagedTensor* managed,
                           const char* name, rk_kind kind, rk_tensor** tensor) {
  // Taken over, so ended by every failure before the import takes care of it.
  const auto end = [&managed] {
    if (managed != nullptr && managed->deleter != nullptr) {
      managed->deleter(managed);
    }
  };
  if (tensor == nullptr) end();
  return Making(tensor, [&]() -> absl::Status {
    rekindle::ConstantOptions options;
    if (name != nullptr) options.name = name;
    const absl::StatusOr<rekindle::Kind> known = rekindle::c::KindOf(kind);
    const absl::Status there = NotNull(runtime, "the runtime");
    if (!known.ok() || !there.ok()) {
      end();
      return there.ok() ? known.status() : there;
    }
    options.kind = *known;
    RK_ASSIGN_OR_RETURN(rekindle::Tensor made,
                        rekindle::ImportDlpack(*runtime->runtime, managed,
                                               std::move(options), {}));
    return rekindle::c::Give(std::move(made), tensor);
  });
}
