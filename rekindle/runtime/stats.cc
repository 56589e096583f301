// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/stats.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

// ": activation 3.00 MiB, parameter 17 B"; nothing if all are 0.
std::string ByKind(const std::array<size_t, kKinds>& bytes) {
  std::string text;
  for (int kind = 0; kind < kKinds; ++kind) {
    const size_t amount = bytes[static_cast<size_t>(kind)];
    if (amount == 0) continue;
    absl::StrAppend(&text, text.empty() ? ": " : ", ",
                    KindName(static_cast<Kind>(kind)), " ",
                    FormatBytes(amount));
  }
  return text;
}

size_t Sum(const std::array<size_t, kKinds>& bytes) {
  size_t sum = 0;
  for (size_t amount : bytes) sum += amount;
  return sum;
}

}  // namespace

std::string ToString(const RuntimeStats& stats) {
  const EngineStats& engine = stats.engine;
  const AllocatorStats& allocator = stats.allocator;
  const double more =
      engine.call_cost > 0 ? 100 * engine.recompute_cost / engine.call_cost : 0;
  std::string budget = FormatBytes(allocator.budget);
  if (allocator.effective_budget < allocator.budget) {
    absl::StrAppend(&budget, " (of which the device has only ",
                    FormatBytes(allocator.effective_budget), ")");
  }
  return absl::StrCat(
      "budget ", budget, ", physical memory ",
      FormatBytes(allocator.physical_bytes), ", at most ",
      FormatBytes(allocator.peak_physical_bytes), "\n", "now on the device ",
      FormatBytes(Sum(engine.resident_bytes)), ByKind(engine.resident_bytes),
      "\n", "without a limit the program needs at most ",
      FormatBytes(engine.peak_live_bytes), "\n", stats.steps, " steps begun, ",
      engine.calls, " calls, ", engine.recomputations, " recomputations (",
      absl::StrFormat("%.1f%%", more), " more work), ", engine.evictions,
      " evictions, ", engine.moves, " small values moved\n",
      allocator.vmm_calls, " memory mapping calls, ",
      stats.device_calls.synchronize, " waits for the device\n");
}

}  // namespace rekindle
