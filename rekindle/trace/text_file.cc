// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/text_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace rekindle {
namespace {

constexpr unsigned kPiece = 1 << 18;  // bytes read or unpacked at once
// Unpacked. A trace of 10^7 rows is a third of it.
constexpr size_t kMostText = size_t{1} << 30;
// Of one line: what has none so long is no text.
constexpr size_t kMostLine = size_t{1} << 20;

constexpr absl::string_view kGzip = "\x1f\x8b";

std::string SystemError() {
  return absl::StrCat("cannot be read: ", std::strerror(errno));
}

// What a gzip file, of one member or more, unpacks to. zlib's own reader of
// files takes whatever follows the last member for nothing.
class Unpacker {
 public:
  Unpacker() : out_(kPiece) {
    constexpr int kGzipOnly = 16;
    begun_ = inflateInit2(&stream_, kGzipOnly + MAX_WBITS) == Z_OK;
  }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() { inflateEnd(&stream_); }

  // Appends what the next bytes of the file hold to `text`. Empty, or why they
  // cannot be unpacked.
  std::string Add(absl::string_view packed, std::string& text) {
    if (!begun_) return "zlib does not start";
    stream_.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<unsigned>(packed.size());
    do {
      if (between_ && stream_.avail_in > 0) inflateReset(&stream_);
      between_ = between_ && stream_.avail_in == 0;
      stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
      stream_.avail_out = kPiece;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      text.append(out_.data(), kPiece - stream_.avail_out);
      if (code == Z_STREAM_END) {
        between_ = true;
        ++members_;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return Reason();
      }
    } while (stream_.avail_in > 0 || stream_.avail_out == 0);
    return "";
  }

  // Whether what was added ends where a member ends.
  bool complete() const { return between_; }

 private:
  std::string Reason() const {
    if (members_ > 0 && stream_.total_out == 0) {
      return "after the compressed data comes something else";
    }
    return absl::StrCat("cannot be unpacked: ",
                        stream_.msg != nullptr ? stream_.msg : "zlib fails");
  }

  z_stream stream_ = {};
  std::vector<char> out_;
  bool begun_ = false;
  bool between_ = false;  // a member has ended, and no other begun
  int members_ = 0;
};

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
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return absl::NotFoundError(FileError(path, 1, SystemError()));
  }
  const absl::Cleanup close = [file] { std::fclose(file); };
  std::string text;
  std::optional<Unpacker> unpacker;
  std::vector<char> piece(kPiece);
  size_t count = kPiece;
  size_t line = 0;  // where the last one begins
  for (bool first = true; count == kPiece; first = false) {
    count = std::fread(piece.data(), 1, kPiece, file);
    if (std::ferror(file) != 0) return Broken(path, text, SystemError());
    const absl::string_view bytes(piece.data(), count);
    if (first && absl::StartsWith(bytes, kGzip)) unpacker.emplace();
    if (unpacker.has_value()) {
      const std::string reason = unpacker->Add(bytes, text);
      if (!reason.empty()) return Broken(path, text, reason);
    } else {
      text.append(bytes.data(), bytes.size());
    }
    if (text.size() > kMostText) return Broken(path, text, "too much text");
    const size_t newline = text.rfind('\n');
    line = newline == std::string::npos ? 0 : newline + 1;
    if (text.size() - line > kMostLine) {
      return Broken(path, text, "a line of more than 1 MiB: this is no text");
    }
  }
  if (unpacker.has_value() && !unpacker->complete()) {
    return Broken(path, text, "the compressed data ends here, cut short");
  }
  return text;
}

}  // namespace rekindle
