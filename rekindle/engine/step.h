// SPDX-License-Identifier: Apache-2.0
// A recorded step: what a program asked of the engine between two marks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rekindle/base/ids.h"
#include "rekindle/engine/engine.h"
#include "rekindle/engine/types.h"

namespace rekindle {

// Everything that decides about bytes and cost; no kernels and no bytes.
// Storages go by the ids that the recording engine gave them.
struct Step {
  struct Constant {
    StorageId storage;
    size_t bytes = 0;
    Kind kind = Kind::kOther;
    bool adopted = false;  // not the allocator's memory, and not counted
  };
  // Alive when the step began; all are constants then.
  struct Initial {
    Constant constant;
    int references = 0;
    int pins = 0;
  };
  struct Call {
    CallSpec spec;  // without `execute`; the cost is known
    CallResult result;
  };

  enum class Action : uint8_t {
    kConstant,       // constants[index] is made
    kCall,           // calls[index] runs
    kAddReference,   // to `storage`
    kDropReference,  // of `storage`
    kPin,
    kUnpin,
    kWrite,  // PinForWrite of `storage` makes `made`
    kDetach,
    kDetachAll,  // the end of the step
  };
  struct Operation {
    Action action;
    StorageId storage;
    StorageId made;
    size_t index = 0;
  };

  std::vector<Initial> initial;  // oldest first
  std::vector<Constant> constants;
  std::vector<Call> calls;
  std::vector<Operation> operations;
};

// All of a call but what it does.
CallSpec CopyWithoutExecutor(const CallSpec& spec);

}  // namespace rekindle
