// SPDX-License-Identifier: Apache-2.0
// Real traces that tests read where they are, and that are not part of this
// repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace rekindle {

// $REKINDLE_DATA, else ../shared/data beside the sources; "" if it is not
// there.
inline std::string DataFolder() {
  const char* const given = std::getenv("REKINDLE_DATA");
  const std::filesystem::path folder =
      given != nullptr
          ? std::filesystem::path(given)
          : std::filesystem::path(__FILE__).parent_path().parent_path() / ".." /
                ".." / "shared" / "data";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return "";
  return folder.lexically_normal().string();
}

}  // namespace rekindle
