// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace rekindle {

// Objects of one type that come and go by the thousand: memory for them is
// taken in blocks and used again. Thread-compatible. The pool outlives its
// objects and holds the memory of the most that there ever were.
template <typename T>
class Pool {
 public:
  struct Deleter {
    Pool* pool;
    void operator()(T* object) const { pool->Delete(object); }
  };
  using Pointer = std::unique_ptr<T, Deleter>;

  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  template <typename... Args>
  Pointer New(Args&&... args) {
    if (free_.empty()) AddBlock();
    Place* const place = free_.back();
    T* const object = new (&place->bytes) T(std::forward<Args>(args)...);
    free_.pop_back();
    return Pointer(object, Deleter{this});
  }

 private:
  static constexpr size_t kBlock = 64;
  struct Place {
    alignas(T) std::byte bytes[sizeof(T)];
  };

  void Delete(T* object) {
    object->~T();
    free_.push_back(reinterpret_cast<Place*>(object));
  }
  void AddBlock() {
    blocks_.push_back(std::make_unique<Place[]>(kBlock));
    free_.reserve(blocks_.size() * kBlock);
    for (size_t i = kBlock; i-- > 0;) free_.push_back(&blocks_.back()[i]);
  }

  std::vector<std::unique_ptr<Place[]>> blocks_;
  std::vector<Place*> free_;
};

}  // namespace rekindle
