// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/label.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace rekindle {

std::string Place(const Label& label) {
  absl::string_view file = label.file();
  if (file.empty()) return "";
  const size_t slash = file.rfind('/');
  if (slash != absl::string_view::npos) file.remove_prefix(slash + 1);
  return absl::StrCat(file, ":", label.line());
}

std::string ToString(const Label& label) {
  const std::string place = Place(label);
  if (place.empty()) return absl::StrCat("\"", label.name(), "\"");
  return absl::StrCat("\"", label.name(), "\" (", place, ")");
}

}  // namespace rekindle
