// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/stored_kernel.h"

#include <exception>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"
#include "rekindle/runtime/named_error.h"

namespace rekindle::internal {

absl::Status StoredKernel::Run(const KernelBinding& binding) {
  absl::Status status;
  try {
    status = RunUnnamed(binding);
  } catch (const std::exception& exception) {
    status = absl::InternalError(
        absl::StrCat("the kernel threw an exception: ", exception.what()));
  } catch (...) {
    status = absl::InternalError("the kernel threw an exception");
  }
  return Named(label_, status);
}

absl::Status StoredKernel::RunUnnamed(const KernelBinding& binding) {
  if (offsets_.empty()) {
    KernelArgs arguments(binding.inputs, binding.outputs, binding.workspace,
                         random_, binding.stream);
    return kernel_(arguments);
  }
  RK_CHECK(offsets_.size() == binding.inputs.size(), "one offset an input");
  absl::InlinedVector<DeviceAddress, 8> inputs(binding.inputs.begin(),
                                               binding.inputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] += offsets_[i];
  KernelArgs arguments(inputs, binding.outputs, binding.workspace, random_,
                       binding.stream);
  return kernel_(arguments);
}

}  // namespace rekindle::internal
