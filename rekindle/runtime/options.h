// SPDX-License-Identifier: Apache-2.0
// Everything a runtime can be told, in code or by environment variables.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "rekindle/device/device.h"
#include "rekindle/evictor/policies.h"

namespace rekindle {

// How much device memory the runtime may take, all included.
class Budget {
 public:
  // Free memory of the device at start, less a twentieth of its total as a
  // margin for what Rekindle does not count, and never below half of what is
  // free. The default.
  static Budget Auto() { return Budget(Form::kAuto, 0, 0); }
  static Budget Unlimited() { return Budget(Form::kUnlimited, 0, 0); }
  // bytes > 0
  static Budget Bytes(size_t bytes) { return Budget(Form::kBytes, bytes, 0); }
  // 0 < fraction <= 1, of the device's total memory.
  static Budget Fraction(double fraction) {
    return Budget(Form::kFraction, 0, fraction);
  }

  // Reads "8GiB", "512MiB", "8GB", "60%", "auto" or "unlimited". A bare number
  // is refused. Errors: InvalidArgument that says what is accepted.
  static absl::StatusOr<Budget> Parse(absl::string_view text);

  // The budget in bytes on a device with this memory. Errors: InvalidArgument
  // for 0 bytes or a fraction out of range.
  absl::StatusOr<size_t> Resolve(const MemoryInfo& memory) const;

 private:
  enum class Form { kAuto, kUnlimited, kBytes, kFraction };
  Budget(Form form, size_t bytes, double fraction)
      : form_(form), bytes_(bytes), fraction_(fraction) {}

  Form form_;
  size_t bytes_;
  double fraction_;
};

enum class CostModel {
  kModelled,  // from declared flops and bytes: the same decisions every time
  kMeasured,  // from the first run of each call
};

struct RuntimeOptions {
  // Fields set from the environment, defaults where a variable is not set:
  //   REKINDLE_BUDGET   as Budget::Parse reads it
  //   REKINDLE_DEVICE   auto, host, counting, cuda:0
  //   REKINDLE_POLICY   as policies.Make reads it
  //   REKINDLE_VERIFY   0 or 1
  //   REKINDLE_STATS    0 or 1
  //   REKINDLE_LOG      quiet or 0, warn or 1, info or 2
  // Warns on stderr of other variables whose names begin with REKINDLE_.
  // Errors: InvalidArgument that names variable, value and what is accepted.
  static absl::StatusOr<RuntimeOptions> FromEnvironment(
      PolicyRegistry policies = PolicyRegistry::Builtin());
  // The same, with the environment given as a function from name to value, and
  // without the warnings.
  static absl::StatusOr<RuntimeOptions> FromEnvironment(
      const std::function<std::optional<std::string>(const char*)>& lookup,
      PolicyRegistry policies = PolicyRegistry::Builtin());

  // More than the device has becomes what it has, with a warning.
  Budget budget = Budget::Auto();
  // "auto" (the first GPU, else the host), "host", "cuda:0", "counting".
  std::string device = "auto";
  // One of `policies` and its settings; see evictor/policies.h.
  std::string policy = "dtr_eq:release=lazy";
  PolicyRegistry policies = PolicyRegistry::Builtin();
  // The program's own stream, which calls and guards use that name none; it
  // lasts as long as the runtime. By default that of the device.
  Stream stream = {};
  CostModel cost_model = CostModel::kModelled;
  // Physical memory is taken in chunks of this size; 0: the device's unit.
  size_t chunk_bytes = 0;
  // How long a call waits for memory that other threads' guards pin.
  std::chrono::milliseconds pin_wait{10000};
  // Looks at every value before and after each kernel and fails calls that do
  // not do what they declare, by name. Slow; for finding faults.
  bool verify = false;
  // A program that never calls BeginStep remembers so many calls at most: then
  // the values with the longest history become constants, as far as the budget
  // allows. 0: no limit.
  int64_t max_lineage_calls = 1 << 16;
  // Writes each step down, for MinimumBudget and for what an error can name.
  bool record_steps = true;
  // Prints statistics to stderr when the runtime ends.
  bool print_stats = false;
  // 0: nothing, 1: warnings, 2: device, budget and policy too. To stderr.
  int log_level = 1;
  // Where the list of storages goes when a call does not fit; empty: nowhere.
  std::string snapshot_directory = ".";
  // How many events (allocations, frees, memory mapped or unmapped) to remember
  // for WriteMemorySnapshot.
  size_t memory_events = 0;
  // A device to use instead of opening `device`; for tests and embedders.
  std::shared_ptr<Device> custom_device;
};

}  // namespace rekindle
