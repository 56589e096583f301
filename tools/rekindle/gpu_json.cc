// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/gpu_json.h"

namespace rekindle::tools {

nlohmann::ordered_json GpusJson(const std::vector<cuda::GpuInfo>& gpus) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const cuda::GpuInfo& gpu : gpus) {
    list.push_back({{"ordinal", gpu.ordinal},
                    {"name", gpu.name},
                    {"memory_bytes", gpu.memory},
                    {"compute_major", gpu.compute_major},
                    {"compute_minor", gpu.compute_minor},
                    {"maps_memory", gpu.maps_memory},
                    {"granularity_bytes", gpu.granularity}});
  }
  return list;
}

}  // namespace rekindle::tools
