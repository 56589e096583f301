// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/program_pins.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "rekindle/base/check.h"

namespace rekindle {

void ProgramPins::Add(StorageId storage, const Label& by, Stream stream) {
  pins_.insert({storage, {by, stream, false, order_++}});
}

void ProgramPins::SetWrites(StorageId storage) {
  const auto end = pins_.upper_bound(storage);
  RK_CHECK(end != pins_.begin() && std::prev(end)->first == storage, "no pin");
  std::prev(end)->second.writes = true;
}

ProgramPins::Pin ProgramPins::Remove(StorageId storage, Stream stream) {
  const auto [begin, end] = pins_.equal_range(storage);
  const auto found = std::find_if(begin, end, [stream](const auto& entry) {
    return entry.second.stream == stream;
  });
  RK_CHECK(found != end, "unpinned without a pin");
  Pin pin = std::move(found->second);
  pins_.erase(found);
  return pin;
}

Label ProgramPins::OldestLabel() const {
  const auto oldest = std::min_element(pins_.begin(), pins_.end(),
                                       [](const auto& a, const auto& b) {
                                         return a.second.order < b.second.order;
                                       });
  return oldest == pins_.end() ? Label() : oldest->second.by;
}

}  // namespace rekindle
