// SPDX-License-Identifier: Apache-2.0
// What a call costs, from what it declares.
#pragma once

namespace rekindle::internal {

// A device between a CPU and a large GPU. Only the ratios matter, to policies:
// 10 operations take as long as a byte, a launch as long as 300 KB.
inline constexpr double kFlopsPerSecond = 1e12;
inline constexpr double kBytesPerSecond = 1e11;
inline constexpr double kLaunchSeconds = 3e-6;

// Roofline: the slower of arithmetic and memory traffic, and a launch.
constexpr double ModelledSeconds(double flops, double bytes) {
  const double arithmetic = flops / kFlopsPerSecond;
  const double traffic = bytes / kBytesPerSecond;
  return kLaunchSeconds + (arithmetic > traffic ? arithmetic : traffic);
}

}  // namespace rekindle::internal
