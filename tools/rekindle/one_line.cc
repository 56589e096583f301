// SPDX-License-Identifier: Apache-2.0
#include "tools/rekindle/one_line.h"

#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace rekindle::tools {

std::string OneLine(absl::string_view text) {
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    const absl::string_view one = text.substr(i, 1);
    const bool control =
        absl::ascii_iscntrl(static_cast<unsigned char>(one[0]));
    absl::StrAppend(&line, control ? absl::CHexEscape(one) : std::string(one));
  }
  return line;
}

void PrintError(absl::string_view message) {
  std::fputs(absl::StrCat(OneLine(message), "\n").c_str(), stderr);
}

}  // namespace rekindle::tools
