// SPDX-License-Identifier: Apache-2.0
// What every call of the fake driver goes through.
#pragma once

#include <cstring>
#include <vector>

#include "tests/device/cuda/fake_driver.h"

namespace rekindle::cuda {

// The driver that is installed. Aborts if there is none.
FakeDriver& InstalledDriver();

// The contexts that this thread has pushed, of the fake of that generation.
std::vector<Context>& ContextsOfThread(uint64_t generation);

// The primary context: an address that is nobody else's.
inline Context ContextOf(const FakeDriver& driver) {
  return reinterpret_cast<Context>(  // NOLINT
      const_cast<FakeDriver*>(&driver));
}

template <typename Body>
Result FakeDriver::Call(const char* entry, Body body) {
  MutexLock lock(mutex_);
  const Result injected = InjectedOrSuccess(state_, entry);
  if (injected != Result::kSuccess) return injected;
  if (options_.stub) return Result::kStubLibrary;
  if (!state_.initialized && std::strcmp(entry, "cuInit") != 0) {
    return state_.rules.Broken("not-initialized", entry,
                               Result::kNotInitialized);
  }
  return body(state_);
}

template <typename Body>
Result FakeDriver::ContextCall(const char* entry, Body body) {
  return Call(entry, [&](State& state) {
    if (!ContextIsCurrent()) {
      return state.rules.Broken("no-current-context", entry,
                                Result::kInvalidContext);
    }
    if (state.work.fault() != Result::kSuccess) return state.work.fault();
    return body(state);
  });
}

template <typename Body>
Result FakeDriver::MemoryCall(const char* entry, Body body) {
  return ContextCall(entry, [&](State& state) {
    if (state.work.AnyCapture()) {
      return state.rules.Broken("vmm-in-capture", entry,
                                Result::kCaptureUnsupported);
    }
    return body(state);
  });
}

}  // namespace rekindle::cuda
