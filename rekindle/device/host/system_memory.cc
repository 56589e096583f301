// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/host/system_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

// The first line of the file that begins with `prefix`, without that.
std::optional<std::string> FindLine(const std::string& path,
                                    absl::string_view prefix) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, prefix)) return line.substr(prefix.size());
  }
  return std::nullopt;
}

// A number of `unit` bytes; nullopt if there is none ("max", no such file).
std::optional<size_t> FindBytes(const std::string& path,
                                absl::string_view prefix, size_t unit) {
  const std::optional<std::string> line = FindLine(path, prefix);
  uint64_t number = 0;
  if (!line.has_value()) return std::nullopt;
  const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(
      absl::StripLeadingAsciiWhitespace(*line), absl::MaxSplits(' ', 1));
  if (!absl::SimpleAtoi(words.first, &number)) return std::nullopt;
  return static_cast<size_t>(number) * unit;
}

void Limit(const std::string& limit_path, const std::string& used_path,
           SystemMemory& memory) {
  const std::optional<size_t> limit = FindBytes(limit_path, "", 1);
  // Version 1 says a number near 2^63 for none.
  if (!limit.has_value() || *limit >= memory.total) return;
  const size_t used = FindBytes(used_path, "", 1).value_or(0);
  memory.total = *limit;
  memory.available =
      std::min(memory.available, *limit - std::min(*limit, used));
}

}  // namespace

SystemMemory ReadSystemMemory(const std::string& root) {
  SystemMemory memory;
  const std::string meminfo = absl::StrCat(root, "/proc/meminfo");
  memory.total = FindBytes(meminfo, "MemTotal:", kKiB).value_or(0);
  memory.available =
      FindBytes(meminfo, "MemAvailable:", kKiB).value_or(memory.total);
  const std::string groups = absl::StrCat(root, "/proc/self/cgroup");
  const std::string system = absl::StrCat(root, "/sys/fs/cgroup");
  if (const auto path = FindLine(groups, "0::")) {
    Limit(absl::StrCat(system, *path, "/memory.max"),
          absl::StrCat(system, *path, "/memory.current"), memory);
  }
  // "4:memory:/path": the number differs.
  for (int number = 1; number < 20; ++number) {
    const auto path = FindLine(groups, absl::StrCat(number, ":memory:"));
    if (!path.has_value()) continue;
    const std::string folder = absl::StrCat(system, "/memory", *path);
    Limit(absl::StrCat(folder, "/memory.limit_in_bytes"),
          absl::StrCat(folder, "/memory.usage_in_bytes"), memory);
  }
  return memory;
}

}  // namespace rekindle
