// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/text_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace rekindle {
namespace {

constexpr unsigned kPiece = 1 << 18;
// Unpacked. A trace of 10^7 rows is a third of it.
constexpr size_t kMostText = size_t{1} << 30;

std::string ReasonOf(const std::string& path, int code, gzFile file) {
  if (code == Z_BUF_ERROR) return "the compressed data ends here, cut short";
  if (code == Z_ERRNO) {
    return absl::StrCat("cannot be read: ", std::strerror(errno));
  }
  int ignored = 0;
  // zlib's text begins with the path, which FileError names already.
  absl::string_view text = file != nullptr ? gzerror(file, &ignored) : "zlib";
  absl::ConsumePrefix(&text, absl::StrCat(path, ": "));
  return absl::StrCat("cannot be unpacked: ", text);
}

absl::Status Broken(const std::string& path, const std::string& text,
                    absl::string_view reason) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  return absl::InvalidArgumentError(
      FileError(path, static_cast<size_t>(lines) + 1, reason));
}

}  // namespace

std::string FileError(absl::string_view path, size_t line,
                      absl::string_view reason) {
  return absl::StrCat(path, ":", line, ": ", reason);
}

std::string Quoted(absl::string_view text) {
  constexpr size_t kMost = 40;
  const bool cut = text.size() > kMost;
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kMost)),
                      cut ? "...\"" : "\"");
}

absl::StatusOr<std::string> ReadTextFile(const std::string& path) {
  errno = 0;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return absl::NotFoundError(FileError(
        path, 1, absl::StrCat("cannot be read: ", std::strerror(errno))));
  }
  absl::Cleanup close = [&file] { gzclose_r(file); };
  std::string text;
  std::vector<char> piece(kPiece);
  for (;;) {
    const int count = gzread(file, piece.data(), kPiece);
    if (count < 0) {
      int code = Z_OK;
      gzerror(file, &code);
      return Broken(path, text, ReasonOf(path, code, file));
    }
    if (text.size() > kMostText) return Broken(path, text, "too much text");
    text.append(piece.data(), static_cast<size_t>(count));
    if (count == 0) break;
  }
  // A stream that stops too soon is only told of at the end.
  std::move(close).Cancel();
  const int code = gzclose_r(file);
  if (code != Z_OK) return Broken(path, text, ReasonOf(path, code, nullptr));
  return text;
}

}  // namespace rekindle
