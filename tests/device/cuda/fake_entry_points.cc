// SPDX-License-Identifier: Apache-2.0
// Installation, look-up, devices and contexts.
#include "tests/device/cuda/fake_entry_points.h"

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "rekindle/base/check.h"
#include "tests/device/cuda/fake_calls.h"

namespace rekindle::cuda {
namespace {

// A C interface has nowhere else to keep it.
std::atomic<FakeDriver*> installed = nullptr;
std::atomic<uint64_t> generations = 0;

struct ThreadContexts {
  uint64_t generation = 0;
  std::vector<Context> stack;
};

}  // namespace

FakeDriver& InstalledDriver() {
  FakeDriver* const driver = installed;
  RK_CHECK(driver != nullptr, "the fake driver is gone");
  return *driver;
}

std::vector<Context>& ContextsOfThread(uint64_t generation) {
  thread_local ThreadContexts contexts;
  if (contexts.generation != generation) contexts = {generation, {}};
  return contexts.stack;
}

uint64_t FakeEntryPoints::Install(FakeDriver* driver) {
  FakeDriver* nobody = nullptr;
  RK_CHECK(installed.compare_exchange_strong(nobody, driver),
           "there is one fake driver at a time");
  return ++generations;
}

void FakeEntryPoints::Remove() { installed = nullptr; }

// Looking up. -----------------------------------------------------------------

DriverApi FakeEntryPoints::Api() {
  DriverApi api;
#define RK_CUDA_SET(entry, ...) api.entry = &FakeEntryPoints::entry;
  RK_CUDA_ENTRY_POINTS(RK_CUDA_SET)
#undef RK_CUDA_SET
  return api;
}

void* FakeEntryPoints::Symbol(const char* name) {
  if (std::strcmp(name, "cuDriverGetVersion") == 0) {
    return reinterpret_cast<void*>(&GetVersion);
  }
  if (std::strcmp(name, "cuGetProcAddress_v2") == 0 &&
      InstalledDriver().options_.version >= 12000) {
    return reinterpret_cast<void*>(&ProcAddress);
  }
  return nullptr;
}

Result FakeEntryPoints::GetVersion(int* version) {
  if (InstalledDriver().options_.stub) return Result::kStubLibrary;
  *version = InstalledDriver().options_.version;
  return Result::kSuccess;
}

Result FakeEntryPoints::ProcAddress(const char* name, void** function,
                                    int version, uint64_t flags, int* found) {
  const FakeDriverOptions& options = InstalledDriver().options_;
  if (options.stub) return Result::kStubLibrary;
  if (version > options.version || flags != kLegacyStream) {
    return Result::kInvalidValue;
  }
  *function = nullptr;
  *found = 1;
  for (const std::string& missing : options.missing) {
    if (missing == name) return Result::kSuccess;
  }
#define RK_CUDA_FIND(entry, ...)                                  \
  if (std::strcmp(name, #entry) == 0) {                           \
    *function = reinterpret_cast<void*>(&FakeEntryPoints::entry); \
    *found = 0;                                                   \
  }
  RK_CUDA_ENTRY_POINTS(RK_CUDA_FIND)
#undef RK_CUDA_FIND
  return Result::kSuccess;
}

// Devices. --------------------------------------------------------------------

Result FakeEntryPoints::cuInit(unsigned /*flags*/) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuInit", [&](FakeDriver::State& state) {
    if (driver.options_.devices == 0) return Result::kNoDevice;
    state.initialized = true;
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDeviceGetCount(int* count) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuDeviceGetCount", [&](FakeDriver::State&) {
    *count = driver.options_.devices;
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDeviceGet(DeviceOrdinal* device, int ordinal) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuDeviceGet", [&](FakeDriver::State&) {
    if (ordinal < 0 || ordinal >= driver.options_.devices) {
      return Result::kInvalidDevice;
    }
    *device = ordinal;
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDeviceGetName(char* name, int length,
                                        DeviceOrdinal /*device*/) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuDeviceGetName", [&](FakeDriver::State&) {
    const std::string& text = driver.options_.name;
    text.copy(name, static_cast<size_t>(length) - 1);
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDeviceTotalMem(size_t* bytes,
                                         DeviceOrdinal /*device*/) {
  return InstalledDriver().Call("cuDeviceTotalMem",
                                [&](FakeDriver::State& state) {
                                  *bytes = state.memory.total();
                                  return Result::kSuccess;
                                });
}

Result FakeEntryPoints::cuDeviceGetAttribute(int* value,
                                             DeviceAttribute attribute,
                                             DeviceOrdinal /*device*/) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuDeviceGetAttribute", [&](FakeDriver::State&) {
    switch (attribute) {
      case DeviceAttribute::kComputeCapabilityMajor:
        *value = 8;
        return Result::kSuccess;
      case DeviceAttribute::kComputeCapabilityMinor:
        *value = 0;
        return Result::kSuccess;
      case DeviceAttribute::kVirtualMemoryManagement:
        *value = driver.options_.maps_memory ? 1 : 0;
        return Result::kSuccess;
    }
    return Result::kInvalidValue;
  });
}

// Contexts. -------------------------------------------------------------------

Result FakeEntryPoints::cuDevicePrimaryCtxRetain(Context* context,
                                                 DeviceOrdinal device) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuDevicePrimaryCtxRetain", [&](FakeDriver::State& state) {
    if (device != 0) return Result::kInvalidDevice;
    ++state.context_references;
    *context = ContextOf(driver);
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDevicePrimaryCtxRelease(DeviceOrdinal device) {
  return InstalledDriver().Call(
      "cuDevicePrimaryCtxRelease", [&](FakeDriver::State& state) {
        if (device != 0) return Result::kInvalidDevice;
        if (state.context_references == 0) {
          return state.rules.Broken("release-without-retain",
                                    "cuDevicePrimaryCtxRelease",
                                    Result::kInvalidContext);
        }
        if (--state.context_references == 0) state.work.SynchronizeAll();
        return Result::kSuccess;
      });
}

Result FakeEntryPoints::cuCtxGetCurrent(Context* context) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuCtxGetCurrent", [&](FakeDriver::State&) {
    const auto& stack = ContextsOfThread(driver.generation_);
    *context = stack.empty() ? nullptr : stack.back();
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuCtxPushCurrent(Context context) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuCtxPushCurrent", [&](FakeDriver::State& state) {
    if (context != ContextOf(driver) || state.context_references == 0) {
      return state.rules.Broken("dead-context", "cuCtxPushCurrent",
                                Result::kInvalidContext);
    }
    ContextsOfThread(driver.generation_).push_back(context);
    ++state.contexts_pushed;
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuCtxPopCurrent(Context* context) {
  FakeDriver& driver = InstalledDriver();
  return driver.Call("cuCtxPopCurrent", [&](FakeDriver::State& state) {
    auto& stack = ContextsOfThread(driver.generation_);
    if (stack.empty()) {
      return state.rules.Broken("pop-without-push", "cuCtxPopCurrent",
                                Result::kInvalidContext);
    }
    *context = stack.back();
    stack.pop_back();
    --state.contexts_pushed;
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuCtxSynchronize() {
  return InstalledDriver().ContextCall("cuCtxSynchronize",
                                       [](FakeDriver::State& state) {
                                         state.work.SynchronizeAll();
                                         return state.work.fault();
                                       });
}

}  // namespace rekindle::cuda
