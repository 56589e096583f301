// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "rekindle/device/cuda/probe.h"

namespace rekindle::tools {

// A list of {ordinal, name, memory_bytes, compute_major, compute_minor,
// maps_memory, granularity_bytes}.
nlohmann::ordered_json GpusJson(const std::vector<cuda::GpuInfo>& gpus);

}  // namespace rekindle::tools
