// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/call_check.h"

#include <cmath>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"

namespace rekindle::internal {
namespace {

// Outputs and workspace together.
constexpr size_t kMostBytes = size_t{1} << 62;

absl::Status CheckIndices(absl::string_view field,
                          const std::vector<int>& indices, size_t inputs) {
  for (size_t i = 0; i < indices.size(); ++i) {
    const int index = indices[i];
    if (index < 0 || static_cast<size_t>(index) >= inputs) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " names input ", index, "; the call has ", inputs,
                       inputs == 1 ? " input" : " inputs"));
    }
    if (absl::c_count(indices, index) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, " names input ", index, " twice"));
    }
  }
  return absl::OkStatus();
}

bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

absl::Status CheckCall(const CallOptions& options, size_t inputs,
                       absl::Span<const Spec> outputs) {
  RK_RETURN_IF_ERROR(CheckIndices("mutates", options.mutates, inputs));
  RK_RETURN_IF_ERROR(CheckIndices("effects", options.effects, inputs));
  if (!IsAmount(options.flops) || !IsAmount(options.bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flops and bytes must be finite and not negative: ", options.flops,
        ", ", options.bytes));
  }
  if (options.workspace_bytes > kMostBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a workspace of ", options.workspace_bytes, " bytes is too large"));
  }
  size_t room = kMostBytes - options.workspace_bytes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const absl::Status status = outputs[i].Validate();
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", i, ": ", status.message()));
    }
    if (outputs[i].bytes() > room) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", i, ": ", ToString(outputs[i]),
                       " makes the sum of outputs and workspace too large"));
    }
    room -= outputs[i].bytes();
  }
  return absl::OkStatus();
}

}  // namespace rekindle::internal
