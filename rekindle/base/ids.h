// SPDX-License-Identifier: Apache-2.0
// Typed integer ids: a StorageId cannot be passed where a CallId is meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace rekindle {

// A number that names one thing of kind `Tag`. Default-constructed ids are
// invalid. Ids of one engine are given out in increasing order and are never
// used again, so comparing two of them compares their ages.
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(int64_t value) : value_(value) {}

  constexpr bool valid() const { return value_ >= 0; }
  constexpr int64_t value() const { return value_; }

  friend constexpr bool operator==(Id a, Id b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Id a, Id b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Id a, Id b) { return a.value_ < b.value_; }

  template <typename H>
  friend H AbslHashValue(H state, Id id) {
    return H::combine(std::move(state), id.value_);
  }

 private:
  int64_t value_ = -1;
};

// The bytes that one tensor, or several views of it, stand on.
using StorageId = Id<struct StorageTag>;
// One recorded call: what would have to run again to make its outputs.
using CallId = Id<struct CallTag>;

}  // namespace rekindle

template <typename Tag>
struct std::hash<rekindle::Id<Tag>> {
  size_t operator()(rekindle::Id<Tag> id) const {
    return std::hash<int64_t>()(id.value());
  }
};
