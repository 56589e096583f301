// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/write_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace rekindle::internal {
namespace {

absl::Status CannotWrite(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

}  // namespace

absl::Status WriteFile(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return CannotWrite(path);
  const bool written =
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed ? absl::OkStatus() : CannotWrite(path);
}

}  // namespace rekindle::internal
