// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/programs/behaviour.h"
#include "tests/programs/machine.h"
#include "tests/programs/program.h"

namespace rekindle::programs {

// What every value of a program should be, in host memory. Values go by the
// indices that they have on the machine.
class Model {
 public:
  // `program` and `machine` outlive it.
  Model(const Program& program, const Machine& machine)
      : program_(program), machine_(machine) {}

  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  size_t words(size_t value) const { return values_[value].words; }
  Words Read(size_t value) const;

  void Add(Words words);
  // Shares the words [begin, end) of `value`.
  void AddView(size_t value, size_t begin, size_t end);
  void AddCopy(size_t value) { Add(Read(value)); }
  void Write(size_t value, const Words& words);
  void Remove(size_t value);

  // The call that an operation means with these values, and what it does.
  // REQUIRES: there are values, or it has no operands.
  MachineCall Resolve(const Operation& operation, Stream stream) const;
  void Apply(const MachineCall& call);

 private:
  // A stretch of a buffer that all its views share.
  struct Value {
    std::shared_ptr<Words> buffer;
    size_t offset = 0;
    size_t words = 0;

    uint32_t* data() const { return buffer->data() + offset; }
  };

  // Whether a call cannot take the two as different ones.
  bool Same(size_t a, size_t b) const;

  const Program& program_;
  const Machine& machine_;
  std::vector<Value> values_;
  uint64_t draws_ = 0;
};

}  // namespace rekindle::programs
