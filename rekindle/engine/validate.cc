// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/validate.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace rekindle {

absl::Status Validate(const CallSpec& spec, const LineageGraph& graph) {
  const auto error = [&spec](absl::string_view what, int64_t value) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToString(spec.label), ": ", what, " ", value));
  };
  for (StorageId id : spec.inputs) {
    if (graph.Find(id) == nullptr) return error("unknown input", id.value());
  }
  absl::InlinedVector<StorageId, 4> changed;
  for (int index : ChangedInputs(spec)) {
    if (index < 0 || static_cast<size_t>(index) >= spec.inputs.size()) {
      return error("mutates or has an effect on input", index);
    }
    const StorageId id = spec.inputs[static_cast<size_t>(index)];
    if (std::find(changed.begin(), changed.end(), id) != changed.end()) {
      return error("changes the same storage twice, as input", index);
    }
    changed.push_back(id);
    if (graph.Find(id)->references == 0)
      return error("no reference to input", index);
  }
  for (int index : spec.effects) {
    const StorageId id = spec.inputs[static_cast<size_t>(index)];
    if (std::count(spec.inputs.begin(), spec.inputs.end(), id) > 1) {
      return error("also reads what it has an effect on, input", index);
    }
  }
  return absl::OkStatus();
}

}  // namespace rekindle
