// SPDX-License-Identifier: Apache-2.0
// Virtual memory management.
#include "absl/strings/str_cat.h"
#include "tests/device/cuda/fake_calls.h"
#include "tests/device/cuda/fake_entry_points.h"

namespace rekindle::cuda {

Result FakeEntryPoints::cuMemGetInfo(size_t* free, size_t* total) {
  return InstalledDriver().ContextCall("cuMemGetInfo",
                                       [&](FakeDriver::State& state) {
                                         *free = state.memory.free();
                                         *total = state.memory.total();
                                         return Result::kSuccess;
                                       });
}

Result FakeEntryPoints::cuMemGetAllocationGranularity(
    size_t* granularity, const AllocationProperties* properties,
    Granularity /*option*/) {
  FakeDriver& driver = InstalledDriver();
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
  FakeDriver& driver = InstalledDriver();
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
  return InstalledDriver().MemoryCall(
      "cuMemAddressFree", [&](FakeDriver::State& state) {
        return state.memory.Free(address, bytes);
      });
}

Result FakeEntryPoints::cuMemCreate(AllocationHandle* handle, size_t bytes,
                                    const AllocationProperties* properties,
                                    unsigned long long flags) {
  FakeDriver& driver = InstalledDriver();
  return driver.MemoryCall("cuMemCreate", [&](FakeDriver::State& state) {
    const Result result = state.memory.Create(handle, bytes, properties, flags);
    if (result == Result::kSuccess) state.now += driver.options_.latency.create;
    return result;
  });
}

Result FakeEntryPoints::cuMemRelease(AllocationHandle handle) {
  return InstalledDriver().MemoryCall(
      "cuMemRelease",
      [&](FakeDriver::State& state) { return state.memory.Release(handle); });
}

Result FakeEntryPoints::cuMemMap(DevicePointer address, size_t bytes,
                                 size_t offset, AllocationHandle handle,
                                 unsigned long long flags) {
  FakeDriver& driver = InstalledDriver();
  return driver.MemoryCall("cuMemMap", [&](FakeDriver::State& state) {
    const Result result =
        state.memory.Map(address, bytes, offset, handle, flags);
    if (result == Result::kSuccess) state.now += driver.options_.latency.map;
    return result;
  });
}

Result FakeEntryPoints::cuMemUnmap(DevicePointer address, size_t bytes) {
  FakeDriver& driver = InstalledDriver();
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
  FakeDriver& driver = InstalledDriver();
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

}  // namespace rekindle::cuda
