// SPDX-License-Identifier: Apache-2.0
#include "rekindle/trace/pickle.h"

#include <bit>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

namespace rekindle {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kStop[] = ".";

class Pickler {
 public:
  std::string Write(const Json& document) {
    out_ = "\x80\x02";  // protocol 2
    Put(document);
    return out_ + kStop;
  }

 private:
  void Put(const Json& value) {
    switch (value.type()) {
      case Json::value_t::object:
        return PutObject(value);
      case Json::value_t::array:
        return PutArray(value);
      case Json::value_t::string:
        return PutText(value.get_ref<const std::string&>());
      case Json::value_t::boolean:
        out_ += value.get<bool>() ? '\x88' : '\x89';
        return;
      case Json::value_t::number_unsigned:
        return PutInteger(value.get<uint64_t>(), /*negative=*/false);
      case Json::value_t::number_integer: {
        const int64_t integer = value.get<int64_t>();
        return PutInteger(static_cast<uint64_t>(integer), integer < 0);
      }
      case Json::value_t::number_float:
        out_ += 'G';
        return PutBytes(std::bit_cast<uint64_t>(value.get<double>()), 8,
                        /*big_endian=*/true);
      default:
        out_ += 'N';
    }
  }

  void PutObject(const Json& object) {
    out_ += "}(";
    for (const auto& [key, value] : object.items()) {
      PutText(key);
      Put(value);
    }
    out_ += 'u';
  }

  // In batches, as Python does: readers put each on a stack.
  void PutArray(const Json& array) {
    constexpr size_t kBatch = 1000;
    out_ += ']';
    for (size_t i = 0; i < array.size(); ++i) {
      if (i % kBatch == 0) out_ += '(';
      Put(array[i]);
      if ((i + 1) % kBatch == 0 || i + 1 == array.size()) out_ += 'e';
    }
  }

  // Python reads no text that is not UTF-8; a name can be anything. Documents
  // are long and say the same few things, so each is looked at once.
  const std::string& Readable(const std::string& raw) {
    const auto [known, is_new] = readable_.try_emplace(raw);
    if (is_new) {
      known->second = Json::parse(Json(raw).dump(
          -1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace));
    }
    return known->second;
  }

  void PutText(const std::string& raw) {
    const std::string& text = Readable(raw);
    out_ += 'X';
    PutBytes(text.size(), 4, /*big_endian=*/false);
    out_ += text;
  }

  // In two's complement, and as short as the opcodes allow: PyTorch's viewer
  // takes longer numbers for another type.
  void PutInteger(uint64_t bits, bool negative) {
    const auto number = static_cast<int64_t>(bits);
    if (negative == (number < 0) &&
        number == static_cast<int64_t>(static_cast<int32_t>(number))) {
      out_ += 'J';
      return PutBytes(bits, 4, /*big_endian=*/false);
    }
    const bool fits = negative == (number < 0);
    out_ += fits ? "\x8a\x08" : "\x8a\x09";
    PutBytes(bits, 8, /*big_endian=*/false);
    if (!fits) out_ += '\0';  // above 2^63
  }

  void PutBytes(uint64_t value, int count, bool big_endian) {
    for (int i = 0; i < count; ++i) {
      const int shift = 8 * (big_endian ? count - 1 - i : i);
      out_ += static_cast<char>(value >> shift & 0xff);
    }
  }

  std::string out_;
  absl::flat_hash_map<std::string, std::string> readable_;
};

}  // namespace

std::string ToPickle(const Json& document) { return Pickler().Write(document); }

}  // namespace rekindle
