// SPDX-License-Identifier: Apache-2.0
// Finds the CUDA driver of this machine at run time; nothing links to it.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "rekindle/device/cuda/driver_api.h"

namespace rekindle::cuda {

// Why there is no GPU to be had, and what the user can do about it.
struct Problem {
  enum class Kind {
    kNone,
    kNoLibrary,       // libcuda.so.1 cannot be opened
    kStubLibrary,     // it is the toolkit's stub
    kDriverTooOld,    // older than kRequiredDriver
    kNoEntryPoint,    // new enough by its number, but something is missing
    kDriverFailed,    // cuInit or another call of the start fails
    kNoDevice,        // no GPU, or none visible to this process
    kOutOfRange,      // fewer GPUs than the number asked for
    kNoVirtualMemory  // the GPU cannot map memory behind addresses
  };
  Kind kind = Kind::kNone;
  std::string reason;
  std::string remedy;

  bool none() const { return kind == Kind::kNone; }
};

// OK if there is no problem, else Unavailable with reason and remedy.
absl::Status ToStatus(const Problem& problem);

// The problem where the driver counts no device.
Problem NoDevice();

// A place to load the driver from; tests have one that is a fake.
struct DriverSource {
  // The address of an exported symbol, null if there is none.
  using Symbols = std::function<void*(const char* name)>;

  // Opens the library. Null, with `reason` set, if that fails.
  std::function<Symbols(std::string* reason)> open;
};

// The library `file`, by its name as dlopen takes it. It is never closed: the
// driver does not survive that. A file that is damaged (cut short, say) can end
// the process when it is opened: dlopen does not check what it maps.
DriverSource DriverLibrary(std::string file = "libcuda.so.1");

// A driver ready for use: loaded, and cuInit has run. `version` is 0 where the
// driver could not be asked. Without a problem every entry point is set.
struct LoadedDriver {
  DriverApi api;
  int version = 0;
  Problem problem;
};

LoadedDriver LoadDriver(const DriverSource& source);

// "12.4" for 12040.
std::string VersionName(int version);

}  // namespace rekindle::cuda
