// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace rekindle {

// Where and under which name a storage or a call came to be. Copies share what
// they say, so that a label costs one allocation, however many records it is
// in. The default one is empty and costs none. Thread-safe as a value is.
class Label {
 public:
  Label() = default;
  // `file` outlives the label (a string literal).
  Label(std::string name, const char* file = "", int line = 0)  // NOLINT
      : data_(std::make_shared<const Data>(Data{std::move(name), file, line})) {
  }

  const std::string& name() const { return data().name; }
  const char* file() const { return data().file; }
  int line() const { return data().line; }

 private:
  struct Data {
    std::string name;
    const char* file = "";
    int line = 0;
  };

  const Data& data() const {
    static const Data kEmpty;
    return data_ == nullptr ? kEmpty : *data_;
  }

  std::shared_ptr<const Data> data_;
};

// train.cc:212, without folders; empty if the place is not known.
std::string Place(const Label& label);
// "block7/softmax" (train.cc:212)
std::string ToString(const Label& label);

}  // namespace rekindle
