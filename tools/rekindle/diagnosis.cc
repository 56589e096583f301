// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/diagnosis.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "rekindle/base/units.h"
#include "rekindle/device/host/host_device.h"
#include "rekindle/runtime/environment_options.h"
#include "rekindle/runtime/open_device.h"
#include "rekindle/runtime/options.h"
#include "tools/rekindle/gpu_json.h"
#include "tools/rekindle/one_line.h"

namespace rekindle::tools {
namespace {

using Json = nlohmann::ordered_json;

void LookAtHost(Diagnosis& diagnosis) {
  diagnosis.cores = static_cast<int>(std::thread::hardware_concurrency());
  const absl::StatusOr<std::unique_ptr<HostDevice>> host = HostDevice::Open({});
  if (!host.ok()) {
    diagnosis.errors.push_back({absl::StrCat("the host device does not open: ",
                                             host.status().message()),
                                "the system must allow memfd_create and mmap"});
    return;
  }
  const MemoryInfo memory = (*host)->memory_info();
  diagnosis.host_memory = memory.total;
  diagnosis.host_free = memory.free;
}

void LookAtCuda(const cuda::DriverSource& driver, Diagnosis& diagnosis) {
  diagnosis.cuda = cuda::ProbeCuda(driver);
  const cuda::Problem& problem = diagnosis.cuda.problem;
  if (problem.none()) return;
  diagnosis.notes.push_back(
      {absl::StrCat("no GPU: ", problem.reason), problem.remedy});
}

void LookAtEnvironment(const Environment& environment, Diagnosis& diagnosis) {
  std::vector<std::string> names;
  for (const auto& variable : environment) {
    if (!absl::StartsWith(variable.first, "REKINDLE_")) continue;
    diagnosis.environment.push_back(variable);
    names.push_back(variable.first);
  }
  for (const std::string& warning : internal::UnknownVariableWarnings(names)) {
    diagnosis.notes.push_back({warning, "correct or unset the variable"});
  }
  const auto options = RuntimeOptions::FromEnvironment([&](const char* name) {
    std::optional<std::string> value;
    for (const auto& [key, text] : environment) {
      if (key == name) value = text;
    }
    return value;
  });
  if (!options.ok()) {
    diagnosis.errors.push_back({std::string(options.status().message()),
                                "correct or unset the variable"});
    return;
  }
  const auto device = internal::OpenDevice(options->device);
  if (!device.ok()) {
    diagnosis.errors.push_back({std::string(device.status().message()),
                                "set REKINDLE_DEVICE to host, or unset it"});
    return;
  }
  diagnosis.device = options->device == "auto" ? "host" : options->device;
  diagnosis.policy = options->policy;
  MemoryInfo memory;
  memory.total = diagnosis.host_memory;
  memory.free = diagnosis.host_free;
  const absl::StatusOr<size_t> budget = options->budget.Resolve(memory);
  if (budget.ok() && diagnosis.device == "host") {
    diagnosis.budget = std::min(*budget, memory.total);
  }
}

std::string Describe(const cuda::GpuInfo& gpu) {
  return absl::StrFormat(
      "cuda:%d, %s, %s, compute capability %d.%d, %s", gpu.ordinal, gpu.name,
      FormatBytes(gpu.memory), gpu.compute_major, gpu.compute_minor,
      gpu.maps_memory ? absl::StrCat("maps memory in units of ",
                                     FormatBytes(gpu.granularity))
                      : "cannot map memory");
}

std::string DriverText(const cuda::Probe& probe) {
  if (probe.driver_version == 0) return "none";
  return absl::StrCat("for CUDA ", cuda::VersionName(probe.driver_version));
}

Json ComplaintsJson(const std::vector<Complaint>& complaints) {
  Json list = Json::array();
  for (const Complaint& complaint : complaints) {
    list.push_back({{"what", complaint.what}, {"remedy", complaint.remedy}});
  }
  return list;
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::pair<std::string, std::string> variable =
        absl::StrSplit(*entry, absl::MaxSplits('=', 1));
    environment.push_back(variable);
  }
  return environment;
}

Diagnosis Diagnose(const cuda::DriverSource& driver,
                   const Environment& environment) {
  Diagnosis diagnosis;
  LookAtHost(diagnosis);
  LookAtCuda(driver, diagnosis);
  LookAtEnvironment(environment, diagnosis);
  return diagnosis;
}

std::string ToText(const Diagnosis& diagnosis) {
  std::string text = absl::StrCat(
      "rekindle     ", REKINDLE_VERSION, "\n", "host         ",
      FormatBytes(diagnosis.host_memory), ", ",
      FormatBytes(diagnosis.host_free), " free, ", diagnosis.cores, " cores\n",
      "CUDA driver  ", DriverText(diagnosis.cuda), "\n");
  for (const cuda::GpuInfo& gpu : diagnosis.cuda.devices) {
    absl::StrAppend(&text, "GPU          ", Describe(gpu), "\n");
  }
  for (const auto& [name, value] : diagnosis.environment) {
    absl::StrAppend(&text, "environment  ", name, "=", OneLine(value), "\n");
  }
  if (!diagnosis.device.empty()) {
    absl::StrAppend(&text, "a program    runs on ", diagnosis.device);
    if (diagnosis.budget.has_value()) {
      absl::StrAppend(&text, " with a budget of ",
                      FormatBytes(*diagnosis.budget));
    }
    absl::StrAppend(&text, ", policy ", diagnosis.policy, "\n");
  }
  for (const Complaint& note : diagnosis.notes) {
    absl::StrAppend(&text, "note         ", OneLine(note.what),
                    "\n             ", note.remedy, "\n");
  }
  for (const Complaint& error : diagnosis.errors) {
    absl::StrAppend(&text, "ERROR        ", OneLine(error.what),
                    "\n             ", error.remedy, "\n");
  }
  return text;
}

nlohmann::ordered_json ToJson(const Diagnosis& diagnosis) {
  Json environment = Json::object();
  for (const auto& [name, value] : diagnosis.environment) {
    environment[name] = value;
  }
  Json budget = nullptr;
  if (diagnosis.budget.has_value()) budget = *diagnosis.budget;
  return {{"version", REKINDLE_VERSION},
          {"host",
           {{"memory_bytes", diagnosis.host_memory},
            {"free_bytes", diagnosis.host_free},
            {"cores", diagnosis.cores}}},
          {"cuda",
           {{"driver_version", diagnosis.cuda.driver_version},
            {"devices", GpusJson(diagnosis.cuda.devices)}}},
          {"environment", std::move(environment)},
          {"device", diagnosis.device},
          {"policy", diagnosis.policy},
          {"budget_bytes", std::move(budget)},
          {"notes", ComplaintsJson(diagnosis.notes)},
          {"errors", ComplaintsJson(diagnosis.errors)}};
}

}  // namespace rekindle::tools
