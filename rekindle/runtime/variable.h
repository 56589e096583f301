// SPDX-License-Identifier: Apache-2.0
// What public handles own of the engine.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>

#include "rekindle/base/ids.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/types.h"

namespace rekindle::internal {

class Core;

// The value that one or more Tensors (copies and views of each other) name.
// Owns one engine reference to `storage`. An update in place moves it on to
// the storage that holds the new value. Thread-compatible: `storage` belongs
// to the core's lock.
struct Variable {
  Variable(std::shared_ptr<Core> core, StorageId storage, size_t bytes,
           Kind kind, Label label);
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  const std::shared_ptr<Core> core;
  StorageId storage;
  const size_t bytes;  // of every storage it ever names
  const Kind kind;
  const Label label;  // with its scopes, for reports
};

// One pin of a storage, and one engine reference to it. Both end with it.
struct Pin {
  Pin(std::shared_ptr<Core> core, StorageId storage, Stream stream);
  ~Pin();
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

  const std::shared_ptr<Core> core;
  const StorageId storage;
  const Stream stream;           // whose work reads or writes the bytes
  const std::thread::id thread;  // who made it
};

}  // namespace rekindle::internal
