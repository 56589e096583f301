// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "rekindle/engine/lineage_graph.h"
#include "rekindle/engine/types.h"

namespace rekindle {

// InvalidArgument that names the call for an unknown input, or an index in
// `mutates` or `effects` that is out of range, changes a storage twice, or
// changes one that has no reference. Internal to engine/.
absl::Status Validate(const CallSpec& spec, const LineageGraph& graph);

}  // namespace rekindle
