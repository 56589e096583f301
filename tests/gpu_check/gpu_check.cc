// SPDX-License-Identifier: Apache-2.0
// Whether Rekindle holds what it promises on this machine's GPU, in minutes.
// Prints one table, writes one JSON document; exit status 0 only if all holds.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rekindle/base/units.h"
#include "rekindle/device/cuda/cuda_device.h"
#include "rekindle/device/cuda/probe.h"
#include "rekindle/device/host/host_device.h"
#include "tests/device/cuda/fake_driver.h"
#include "tests/gpu_check/conformance_run.h"
#include "tests/gpu_check/pressure.h"
#include "tests/gpu_check/report.h"
#include "tests/gpu_check/vmm_latency.h"
#include "tools/rekindle/gpu_json.h"
#include "tools/rekindle/one_line.h"

namespace rekindle {
namespace {

using Json = nlohmann::ordered_json;
using Outcome = Finding::Outcome;

Finding Failure(std::string section, std::string name,
                const absl::Status& status) {
  return {std::move(section), std::move(name), Outcome::kFailed,
          std::string(status.message()), nullptr};
}

// What is checked, and how hard.
struct Target {
  cuda::DriverSource driver;
  std::string conformance;  // names of the tests to run
  size_t budget = 0;        // of the allocator under pressure, in bytes
  int operations = 0;
  std::vector<size_t> latency_chunks;
  int rounds = 0;
};

Target Card() {
  return {cuda::DriverLibrary(),
          "*Card*",
          2 * kGiB,
          4000,
          {2 * kMiB, 20 * kMiB, 64 * kMiB},
          5};
}

// Everything but the card: the conformance of all other devices, and the rest
// on a driver made of host memory.
Target DryRun(const cuda::DriverSource& fake) {
  return {fake, "*-*Card*", 64 * kMiB, 1000, {2 * kMiB}, 2};
}

Finding CheckCard(const cuda::Probe& probe) {
  std::vector<std::string> names;
  for (const cuda::GpuInfo& gpu : probe.devices) {
    names.push_back(absl::StrFormat("%s, %s, compute %d.%d, granularity %s",
                                    gpu.name, FormatBytes(gpu.memory),
                                    gpu.compute_major, gpu.compute_minor,
                                    FormatBytes(gpu.granularity)));
  }
  const Json figures = {{"driver_version", probe.driver_version},
                        {"devices", tools::GpusJson(probe.devices)}};
  if (!probe.problem.none()) {
    return {"card", "driver", Outcome::kFailed,
            absl::StrCat("no device: ", probe.problem.reason, "; ",
                         probe.problem.remedy),
            figures};
  }
  return {
      "card", "driver", Outcome::kOk,
      absl::StrCat("driver for CUDA ", cuda::VersionName(probe.driver_version),
                   "; ", absl::StrJoin(names, "; ")),
      figures};
}

void CheckConformance(const Target& target, Report& report) {
  const ConformanceResult result = RunConformance(target.conformance);
  const bool ok = result.failed == 0 && result.passed > 0;
  const std::string detail = absl::StrCat(
      result.passed, " tests passed, ", result.failed, " failed, ",
      result.skipped, " skipped", result.messages.empty() ? "" : ": ",
      absl::StrJoin(result.messages, " | "));
  report.Add({"conformance",
              "of devices",
              ok ? Outcome::kOk : Outcome::kFailed,
              detail,
              {{"passed", result.passed},
               {"failed", result.failed},
               {"skipped", result.skipped}}});
}

void CheckPressure(const std::string& name, Device& device,
                   const PressureOptions& options, Report& report) {
  const absl::StatusOr<PressureResult> result =
      RunUnderPressure(device, options);
  if (!result.ok()) {
    return report.Add(Failure("allocator", name, result.status()));
  }
  report.Add({"allocator",
              name,
              Outcome::kOk,
              absl::StrFormat("%d blocks within %s, %d compared, peak %s, %d "
                              "VMM calls",
                              result->allocations, FormatBytes(options.budget),
                              result->verified,
                              FormatBytes(result->peak_physical_bytes),
                              result->vmm_calls),
              {{"budget_bytes", options.budget},
               {"peak_bytes", result->peak_physical_bytes},
               {"allocations", result->allocations},
               {"verified", result->verified},
               {"vmm_calls", result->vmm_calls}}});
}

void CheckAllocators(const Target& target, Report& report) {
  for (size_t chunks : {size_t{1}, size_t{10}}) {
    // A device of its own: it counts its peak from the start.
    const absl::StatusOr<std::unique_ptr<CudaDevice>> device =
        CudaDevice::Open(0, target.driver);
    if (!device.ok()) {
      return report.Add(Failure("allocator", "cuda:0", device.status()));
    }
    PressureOptions options;
    options.chunk_bytes = chunks * (*device)->granularity();
    options.budget = target.budget;
    options.operations = target.operations;
    CheckPressure(
        absl::StrCat("cuda:0, chunks of ", FormatBytes(options.chunk_bytes)),
        **device, options, report);
  }
}

void CheckHostAllocator(const Target& target, Report& report) {
  const absl::StatusOr<std::unique_ptr<HostDevice>> device =
      HostDevice::Open({.granularity = 64 * kKiB});
  if (!device.ok()) {
    return report.Add(Failure("allocator", "host", device.status()));
  }
  CheckPressure("host", **device, {target.budget, 0, target.operations},
                report);
}

Finding LatencyFinding(const VmmLatency& latency) {
  return {"latency",
          absl::StrCat(latency.count, " x ", FormatBytes(latency.chunk_bytes)),
          Outcome::kOk,
          absl::StrFormat("us: create %.1f, map %.1f, access %.1f, unmap %.1f, "
                          "release %.1f, reserve %.1f, free %.1f",
                          latency.create, latency.map, latency.access,
                          latency.unmap, latency.release, latency.reserve,
                          latency.free_range),
          {{"chunk_bytes", latency.chunk_bytes},
           {"chunks", latency.count},
           {"create_us", latency.create},
           {"map_us", latency.map},
           {"access_us", latency.access},
           {"unmap_us", latency.unmap},
           {"release_us", latency.release},
           {"reserve_us", latency.reserve},
           {"free_us", latency.free_range}}};
}

void MeasureLatencies(const Target& target, size_t memory, Report& report) {
  const cuda::LoadedDriver driver = cuda::LoadDriver(target.driver);
  for (size_t chunk : target.latency_chunks) {
    for (int count : {1, 10, 100}) {
      const std::string name = absl::StrCat(count, " x ", FormatBytes(chunk));
      if (chunk * static_cast<size_t>(count) > memory / 2) {
        report.Add({"latency", name, Outcome::kSkipped,
                    "more than half of the memory", nullptr});
        continue;
      }
      const absl::StatusOr<VmmLatency> latency =
          MeasureVmm(driver.api, 0, chunk, count, target.rounds);
      report.Add(latency.ok() ? LatencyFinding(*latency)
                              : Failure("latency", name, latency.status()));
    }
  }
}

// Writes to `file` as it was opened, before all work.
bool WriteJson(std::ofstream& file, const Report& report, bool dry_run) {
  Json document = report.ToJson();
  document["dry_run"] = dry_run;
  file << document.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
  file.close();
  return file.good();
}

void CheckAll(const Target& target, bool dry_run, Report& report) {
  const cuda::Probe probe = cuda::ProbeCuda(target.driver);
  report.Add(CheckCard(probe));
  if (!probe.problem.none()) return;
  CheckAllocators(target, report);
  if (dry_run) CheckHostAllocator(target, report);
  MeasureLatencies(target, probe.devices.front().memory, report);
}

// Prints as it goes.
Report RunChecks(bool dry_run) {
  const auto start = std::chrono::steady_clock::now();
  Report report(stdout);
  if (dry_run) {
    std::printf("dry run: no card is asked, \"cuda:0\" is host memory\n");
    {
      cuda::FakeDriver fake({.memory = kGiB});
      CheckAll(DryRun(fake.source()), dry_run, report);
      for (const cuda::Violation& violation : fake.violations()) {
        report.Add({"driver rules", violation.rule, Outcome::kFailed,
                    violation.detail, nullptr});
      }
    }
    CheckConformance(DryRun({}), report);  // makes drivers of its own
  } else {
    const Target card = Card();
    CheckAll(card, dry_run, report);
    if (report.ok()) CheckConformance(card, report);
  }
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  std::printf("%s, %.0f s\n", report.Summary().c_str(), took.count());
  return report;
}

void Complain(absl::string_view message) {
  tools::PrintError(absl::StrCat("gpu_check: ", message));
}

int Run(bool dry_run, const std::optional<std::string>& json_path) {
  std::ofstream json;
  if (json_path.has_value()) {
    json.open(*json_path);  // now, not after minutes of work
    if (!json.is_open()) {
      Complain(absl::StrCat("--json: cannot write \"", *json_path,
                            "\": ", std::strerror(errno)));
      return 2;
    }
  }
  const Report report = RunChecks(dry_run);
  if (json_path.has_value() && !WriteJson(json, report, dry_run)) {
    Complain(absl::StrCat("cannot write \"", *json_path, "\""));
    return 1;
  }
  return report.ok() ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Checks Rekindle on this machine's first GPU.", "gpu_check");
  bool dry_run = false;
  std::optional<std::string> json_path;
  app.add_flag("--dry-run", dry_run, "Run what needs no card");
  app.add_option("--json", json_path, "File for the same as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    Complain(absl::StrCat(error.what(), " (see --help)"));
    return 2;
  }
  return Run(dry_run, json_path);
}

}  // namespace
}  // namespace rekindle

int main(int argc, char** argv) {
  const int exit_status = rekindle::Main(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_status;
  std::fputs("gpu_check: cannot write to standard output\n", stderr);
  return 1;
}
