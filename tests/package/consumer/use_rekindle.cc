// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "rekindle/base/units.h"

int main() {
  const absl::StatusOr<size_t> bytes = rekindle::ParseBytes("8GiB");
  if (!bytes.ok() || *bytes != 8 * rekindle::kGiB) return 1;
  std::printf("%s\n", rekindle::FormatBytes(*bytes).c_str());
}
