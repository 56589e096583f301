// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/unpickle.h"

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rekindle {
namespace {

using Json = nlohmann::ordered_json;

// The machine that a pickle is a program for: a stack, and marks in it.
class Unpickler {
 public:
  explicit Unpickler(const std::string& pickle) : pickle_(pickle) {}

  Json Run() {
    if (Byte() != 0x80 || Byte() > 5) throw std::runtime_error("no protocol");
    while (true) {
      const uint8_t opcode = Byte();
      if (opcode == '.') break;
      Step(opcode);
    }
    if (at_ != pickle_.size()) throw std::runtime_error("bytes after the end");
    if (stack_.size() != 1 || !marks_.empty()) {
      throw std::runtime_error("not one value");
    }
    return std::move(stack_.back());
  }

 private:
  void Step(uint8_t opcode) {
    switch (opcode) {
      case '}':
        return stack_.push_back(Json::object());
      case ']':
        return stack_.push_back(Json::array());
      case '(':
        return marks_.push_back(stack_.size());
      case 'u':
        return SetItems();
      case 'e':
        return Append();
      case 'X':
        return stack_.push_back(Text(Number(4)));
      case 'N':
        return stack_.push_back(nullptr);
      case 0x88:
        return stack_.push_back(true);
      case 0x89:
        return stack_.push_back(false);
      case 'J':
        return stack_.push_back(Plain(static_cast<int32_t>(Number(4))));
      case 0x8a:
        return stack_.push_back(Long());
      case 'G':
        return stack_.push_back(Float());
      default:
        throw std::runtime_error("opcode " + std::to_string(opcode));
    }
  }

  std::vector<Json> TakeToMark() {
    if (marks_.empty()) throw std::runtime_error("no mark");
    const auto begin =
        stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Json> values(std::make_move_iterator(begin),
                             std::make_move_iterator(stack_.end()));
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    if (stack_.empty()) throw std::runtime_error("nothing below the mark");
    return values;
  }

  void SetItems() {
    std::vector<Json> values = TakeToMark();
    if (values.size() % 2 != 0) throw std::runtime_error("a key, no value");
    for (size_t i = 0; i < values.size(); i += 2) {
      stack_.back()[values[i].get<std::string>()] = std::move(values[i + 1]);
    }
  }

  void Append() {
    for (Json& value : TakeToMark()) stack_.back().push_back(std::move(value));
  }

  static Json Plain(int64_t number) {
    return number < 0 ? Json(number) : Json(static_cast<uint64_t>(number));
  }

  Json Long() {
    const uint8_t count = Byte();
    if (count == 8) return Plain(static_cast<int64_t>(Number(8)));
    if (count != 9) throw std::runtime_error("a number of another length");
    const uint64_t low = Number(8);
    if (Byte() != 0) throw std::runtime_error("a number below all");
    return low;
  }

  double Float() {
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i) bits = bits << 8 | Byte();
    return std::bit_cast<double>(bits);
  }

  uint64_t Number(int bytes) {
    uint64_t number = 0;
    for (int i = 0; i < bytes; ++i) number |= uint64_t{Byte()} << 8 * i;
    return number;
  }

  std::string Text(uint64_t bytes) {
    if (bytes > pickle_.size() - at_) throw std::runtime_error("text cut off");
    at_ += bytes;
    return pickle_.substr(at_ - bytes, bytes);
  }

  uint8_t Byte() {
    if (at_ == pickle_.size()) throw std::runtime_error("cut off");
    return static_cast<uint8_t>(pickle_[at_++]);
  }

  const std::string& pickle_;
  size_t at_ = 0;
  std::vector<Json> stack_;
  std::vector<size_t> marks_;
};

}  // namespace

nlohmann::ordered_json FromPickle(const std::string& pickle) {
  return Unpickler(pickle).Run();
}

}  // namespace rekindle
