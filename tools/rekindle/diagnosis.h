// SPDX-License-Identifier: Apache-2.0
// What this machine offers and how Rekindle would be set up on it.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rekindle/device/cuda/driver_loader.h"
#include "rekindle/device/cuda/probe.h"

namespace rekindle::tools {

// Something that does not work, and what would change that.
struct Complaint {
  std::string what;
  std::string remedy;
};

struct Diagnosis {
  size_t host_memory = 0;  // in bytes, as the host device counts
  size_t host_free = 0;
  int cores = 0;
  cuda::Probe cuda;
  // REKINDLE_ variables that are set.
  std::vector<std::pair<std::string, std::string>> environment;
  // What a program would run with; empty if the environment is not valid.
  std::string device;
  std::string policy;
  std::optional<size_t> budget;  // in bytes
  // What keeps a program from running as it is set up.
  std::vector<Complaint> errors;
  // What is missing for a GPU, and variables that nobody reads.
  std::vector<Complaint> notes;
};

// The variables as the process has them.
using Environment = std::vector<std::pair<std::string, std::string>>;
Environment ProcessEnvironment();

Diagnosis Diagnose(const cuda::DriverSource& driver,
                   const Environment& environment);

// For people: a line each, what is wrong last.
std::string ToText(const Diagnosis& diagnosis);
nlohmann::ordered_json ToJson(const Diagnosis& diagnosis);

}  // namespace rekindle::tools
