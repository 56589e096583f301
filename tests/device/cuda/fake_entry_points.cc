// SPDX-License-Identifier: Apache-2.0
#include "tests/device/cuda/fake_entry_points.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rekindle/base/check.h"
#include "tests/device/cuda/fake_driver.h"

namespace rekindle::cuda {
namespace {

// A C interface has nowhere else to keep it.
std::atomic<FakeDriver*> installed = nullptr;
std::atomic<uint64_t> generations = 0;

// The contexts that a thread has pushed, of the fake of that generation.
struct ThreadContexts {
  uint64_t generation = 0;
  std::vector<Context> stack;
};

std::vector<Context>& ContextsOfThread(uint64_t generation) {
  thread_local ThreadContexts contexts;
  if (contexts.generation != generation) contexts = {generation, {}};
  return contexts.stack;
}

FakeDriver& Driver() {
  FakeDriver* const driver = installed;
  RK_CHECK(driver != nullptr, "the fake driver is gone");
  return *driver;
}

// The primary context: an address that is nobody else's.
Context ContextOf(const FakeDriver& driver) {
  return reinterpret_cast<Context>(  // NOLINT
      const_cast<FakeDriver*>(&driver));
}

void* Pointer(DevicePointer address) {
  return reinterpret_cast<void*>(address);  // NOLINT
}

bool Overlap(uintptr_t a, uintptr_t b, size_t bytes) {
  return a < b + bytes && b < a + bytes;
}

}  // namespace

// Calls. ----------------------------------------------------------------------

uint64_t FakeEntryPoints::Install(FakeDriver* driver) {
  FakeDriver* nobody = nullptr;
  RK_CHECK(installed.compare_exchange_strong(nobody, driver),
           "there is one fake driver at a time");
  return ++generations;
}

void FakeEntryPoints::Remove() { installed = nullptr; }

Result FakeDriver::InjectedOrSuccess(State& state, const std::string& entry) {
  const int64_t of_entry = ++state.calls[entry];
  const int64_t of_all = ++state.calls[""];
  for (const Failure& failure : state.failures) {
    const bool now = failure.entry.empty()
                         ? failure.at == of_all
                         : failure.entry == entry && failure.at == of_entry;
    if (!now) continue;
    state.last_failed = entry;
    return failure.result;
  }
  return Result::kSuccess;
}

bool FakeDriver::ContextIsCurrent() const {
  const std::vector<Context>& stack = ContextsOfThread(generation_);
  return !stack.empty() && stack.back() == ContextOf(*this);
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

bool FakeDriver::IsPinned(const State& state, const void* address,
                          size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(address);
  for (const auto& [pinned, size] : state.pinned) {
    if (start >= pinned && start + bytes <= pinned + size) return true;
  }
  return false;
}

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
      Driver().options_.version >= 12000) {
    return reinterpret_cast<void*>(&ProcAddress);
  }
  return nullptr;
}

Result FakeEntryPoints::GetVersion(int* version) {
  if (Driver().options_.stub) return Result::kStubLibrary;
  *version = Driver().options_.version;
  return Result::kSuccess;
}

Result FakeEntryPoints::ProcAddress(const char* name, void** function,
                                    int version, uint64_t flags, int* found) {
  const FakeDriverOptions& options = Driver().options_;
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
  FakeDriver& driver = Driver();
  return driver.Call("cuInit", [&](FakeDriver::State& state) {
    if (driver.options_.devices == 0) return Result::kNoDevice;
    state.initialized = true;
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDeviceGetCount(int* count) {
  FakeDriver& driver = Driver();
  return driver.Call("cuDeviceGetCount", [&](FakeDriver::State&) {
    *count = driver.options_.devices;
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDeviceGet(DeviceOrdinal* device, int ordinal) {
  FakeDriver& driver = Driver();
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
  FakeDriver& driver = Driver();
  return driver.Call("cuDeviceGetName", [&](FakeDriver::State&) {
    const std::string& text = driver.options_.name;
    text.copy(name, static_cast<size_t>(length) - 1);
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDeviceTotalMem(size_t* bytes,
                                         DeviceOrdinal /*device*/) {
  return Driver().Call("cuDeviceTotalMem", [&](FakeDriver::State& state) {
    *bytes = state.memory.total();
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDeviceGetAttribute(int* value,
                                             DeviceAttribute attribute,
                                             DeviceOrdinal /*device*/) {
  FakeDriver& driver = Driver();
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
  FakeDriver& driver = Driver();
  return driver.Call("cuDevicePrimaryCtxRetain", [&](FakeDriver::State& state) {
    if (device != 0) return Result::kInvalidDevice;
    ++state.context_references;
    *context = ContextOf(driver);
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuDevicePrimaryCtxRelease(DeviceOrdinal device) {
  return Driver().Call(
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
  FakeDriver& driver = Driver();
  return driver.Call("cuCtxGetCurrent", [&](FakeDriver::State&) {
    const auto& stack = ContextsOfThread(driver.generation_);
    *context = stack.empty() ? nullptr : stack.back();
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuCtxPushCurrent(Context context) {
  FakeDriver& driver = Driver();
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
  FakeDriver& driver = Driver();
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
  return Driver().ContextCall("cuCtxSynchronize", [](FakeDriver::State& state) {
    state.work.SynchronizeAll();
    return state.work.fault();
  });
}

// Memory. ---------------------------------------------------------------------

Result FakeEntryPoints::cuMemGetInfo(size_t* free, size_t* total) {
  return Driver().ContextCall("cuMemGetInfo", [&](FakeDriver::State& state) {
    *free = state.memory.free();
    *total = state.memory.total();
    return Result::kSuccess;
  });
}

Result FakeEntryPoints::cuMemGetAllocationGranularity(
    size_t* granularity, const AllocationProperties* properties,
    Granularity /*option*/) {
  FakeDriver& driver = Driver();
  return driver.Call(
      "cuMemGetAllocationGranularity", [&](FakeDriver::State& state) {
        if (properties->type != AllocationType::kPinned ||
            properties->location.type != LocationType::kDevice) {
          return state.rules.Broken("create-properties",
                                    "cuMemGetAllocationGranularity",
                                    Result::kInvalidValue);
        }
        *granularity = driver.options_.granularity;
        return Result::kSuccess;
      });
}

Result FakeEntryPoints::cuMemAddressReserve(DevicePointer* address,
                                            size_t bytes, size_t alignment,
                                            DevicePointer /*hint*/,
                                            unsigned long long flags) {
  FakeDriver& driver = Driver();
  return driver.MemoryCall(
      "cuMemAddressReserve", [&](FakeDriver::State& state) {
        const Result result =
            state.memory.Reserve(address, bytes, alignment, flags);
        if (result == Result::kSuccess) {
          state.now += driver.options_.latency.reserve;
        }
        return result;
      });
}

Result FakeEntryPoints::cuMemAddressFree(DevicePointer address, size_t bytes) {
  return Driver().MemoryCall("cuMemAddressFree", [&](FakeDriver::State& state) {
    return state.memory.Free(address, bytes);
  });
}

Result FakeEntryPoints::cuMemCreate(AllocationHandle* handle, size_t bytes,
                                    const AllocationProperties* properties,
                                    unsigned long long flags) {
  FakeDriver& driver = Driver();
  return driver.MemoryCall("cuMemCreate", [&](FakeDriver::State& state) {
    const Result result = state.memory.Create(handle, bytes, properties, flags);
    if (result == Result::kSuccess) state.now += driver.options_.latency.create;
    return result;
  });
}

Result FakeEntryPoints::cuMemRelease(AllocationHandle handle) {
  return Driver().MemoryCall("cuMemRelease", [&](FakeDriver::State& state) {
    return state.memory.Release(handle);
  });
}

Result FakeEntryPoints::cuMemMap(DevicePointer address, size_t bytes,
                                 size_t offset, AllocationHandle handle,
                                 unsigned long long flags) {
  FakeDriver& driver = Driver();
  return driver.MemoryCall("cuMemMap", [&](FakeDriver::State& state) {
    const Result result =
        state.memory.Map(address, bytes, offset, handle, flags);
    if (result == Result::kSuccess) state.now += driver.options_.latency.map;
    return result;
  });
}

Result FakeEntryPoints::cuMemUnmap(DevicePointer address, size_t bytes) {
  FakeDriver& driver = Driver();
  return driver.MemoryCall("cuMemUnmap", [&](FakeDriver::State& state) {
    const std::string work = state.work.PendingIn(address, bytes);
    if (!work.empty()) {  // a real driver does it, and the work faults
      state.rules.Broken("unmap-pending-work",
                         absl::StrCat("cuMemUnmap of [0x", absl::Hex(address),
                                      ", +", bytes, ") under ", work),
                         Result::kSuccess);
    }
    const Result result = state.memory.Unmap(address, bytes);
    if (result == Result::kSuccess) state.now += driver.options_.latency.unmap;
    return result;
  });
}

Result FakeEntryPoints::cuMemSetAccess(DevicePointer address, size_t bytes,
                                       const AccessDescription* access,
                                       size_t count) {
  FakeDriver& driver = Driver();
  return driver.MemoryCall("cuMemSetAccess", [&](FakeDriver::State& state) {
    const Result result = state.memory.SetAccess(address, bytes, access, count);
    if (result != Result::kSuccess) return result;
    const FakeLatency& latency = driver.options_.latency;
    const int64_t times = latency.access_per_chunk
                              ? state.memory.CountMappings(address, bytes)
                              : 1;
    state.now += latency.set_access * times;
    return Result::kSuccess;
  });
}

// Work. -----------------------------------------------------------------------

Result FakeEntryPoints::cuMemcpyDtoDAsync(DevicePointer to, DevicePointer from,
                                          size_t bytes, StreamHandle stream) {
  return Driver().ContextCall(
      "cuMemcpyDtoDAsync", [&](FakeDriver::State& state) {
        if (Overlap(to, from, bytes)) {
          return state.rules.Broken("copy-overlap", "cuMemcpyDtoDAsync",
                                    Result::kInvalidValue);
        }
        return state.work.Enqueue(
            stream, "cuMemcpyDtoDAsync", {{to, bytes}, {from, bytes}},
            [=] { std::memcpy(Pointer(to), Pointer(from), bytes); });
      });
}

// Pageable memory is read before the call returns, unless the option says
// otherwise; pinned memory when the copy runs.
Result FakeEntryPoints::cuMemcpyHtoDAsync(DevicePointer to, const void* from,
                                          size_t bytes, StreamHandle stream) {
  FakeDriver& driver = Driver();
  return driver.ContextCall("cuMemcpyHtoDAsync", [&](FakeDriver::State& state) {
    if (from == nullptr) {
      return state.rules.Broken("copy-null", "cuMemcpyHtoDAsync",
                                Result::kInvalidValue);
    }
    std::function<void()> run = [=] { std::memcpy(Pointer(to), from, bytes); };
    if (!FakeDriver::IsPinned(state, from, bytes) &&
        !driver.options_.reads_pageable_late) {
      const auto* const first = static_cast<const char*>(from);
      const auto staged =
          std::make_shared<std::vector<char>>(first, first + bytes);
      run = [=] { std::memcpy(Pointer(to), staged->data(), bytes); };
    }
    return state.work.Enqueue(stream, "cuMemcpyHtoDAsync", {{to, bytes}},
                              std::move(run));
  });
}

// To pageable memory, the call may wait or not: the seed decides.
Result FakeEntryPoints::cuMemcpyDtoHAsync(void* to, DevicePointer from,
                                          size_t bytes, StreamHandle stream) {
  return Driver().ContextCall(
      "cuMemcpyDtoHAsync", [&](FakeDriver::State& state) {
        if (to == nullptr) {
          return state.rules.Broken("copy-null", "cuMemcpyDtoHAsync",
                                    Result::kInvalidValue);
        }
        const Result result =
            state.work.Enqueue(stream, "cuMemcpyDtoHAsync", {{from, bytes}},
                               [=] { std::memcpy(to, Pointer(from), bytes); });
        if (result != Result::kSuccess ||
            FakeDriver::IsPinned(state, to, bytes) || state.work.Draw(2) == 0) {
          return result;
        }
        return state.work.Synchronize(stream);
      });
}

Result FakeEntryPoints::cuMemsetD8Async(DevicePointer address,
                                        unsigned char value, size_t bytes,
                                        StreamHandle stream) {
  return Driver().ContextCall("cuMemsetD8Async", [&](FakeDriver::State& state) {
    return state.work.Enqueue(
        stream, "cuMemsetD8Async", {{address, bytes}},
        [=] { std::memset(Pointer(address), value, bytes); });
  });
}

// Streams and events. ---------------------------------------------------------

Result FakeEntryPoints::cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return Driver().ContextCall("cuStreamCreate", [&](FakeDriver::State& state) {
    return state.work.CreateStream(stream, flags);
  });
}

Result FakeEntryPoints::cuStreamDestroy(StreamHandle stream) {
  return Driver().ContextCall("cuStreamDestroy", [&](FakeDriver::State& state) {
    return state.work.DestroyStream(stream);
  });
}

Result FakeEntryPoints::cuStreamSynchronize(StreamHandle stream) {
  return Driver().ContextCall(
      "cuStreamSynchronize",
      [&](FakeDriver::State& state) { return state.work.Synchronize(stream); });
}

Result FakeEntryPoints::cuStreamWaitEvent(StreamHandle stream,
                                          EventHandle event,
                                          unsigned /*flags*/) {
  return Driver().ContextCall(
      "cuStreamWaitEvent",
      [&](FakeDriver::State& state) { return state.work.Wait(stream, event); });
}

Result FakeEntryPoints::cuStreamIsCapturing(StreamHandle stream,
                                            CaptureStatus* status) {
  return Driver().ContextCall("cuStreamIsCapturing",
                              [&](FakeDriver::State& state) {
                                return state.work.IsCapturing(stream, status);
                              });
}

Result FakeEntryPoints::cuEventCreate(EventHandle* event, unsigned /*flags*/) {
  return Driver().ContextCall("cuEventCreate", [&](FakeDriver::State& state) {
    return state.work.CreateEvent(event);
  });
}

Result FakeEntryPoints::cuEventDestroy(EventHandle event) {
  return Driver().ContextCall("cuEventDestroy", [&](FakeDriver::State& state) {
    return state.work.DestroyEvent(event);
  });
}

Result FakeEntryPoints::cuEventRecord(EventHandle event, StreamHandle stream) {
  return Driver().ContextCall("cuEventRecord", [&](FakeDriver::State& state) {
    return state.work.Record(event, stream);
  });
}

Result FakeEntryPoints::cuEventQuery(EventHandle event) {
  return Driver().ContextCall("cuEventQuery", [&](FakeDriver::State& state) {
    return state.work.Query(event);
  });
}

}  // namespace rekindle::cuda
