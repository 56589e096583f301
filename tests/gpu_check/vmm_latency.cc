// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu_check/vmm_latency.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "rekindle/base/status_macros.h"
#include "rekindle/device/cuda/driver_error.h"
#include "rekindle/device/cuda/probe.h"
#include "rekindle/device/cuda/session.h"

namespace rekindle {
namespace {

using cuda::AllocationHandle;
using cuda::CallScope;

double Median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The memory of one round, given back when it ends.
class Round {
 public:
  Round(const CallScope& scope, cuda::DeviceOrdinal device, size_t chunk_bytes,
        int count)
      : scope_(scope),
        api_(scope.api()),
        device_(device),
        chunk_bytes_(chunk_bytes),
        count_(static_cast<size_t>(count)) {}
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  ~Round() {
    Unmap().IgnoreError();
    Release().IgnoreError();
    FreeRange().IgnoreError();
  }

  absl::Status Reserve() {
    return Check(api_.cuMemAddressReserve(&address_, bytes(), 0, 0, 0),
                 "cuMemAddressReserve");
  }

  absl::Status Create() {
    const cuda::AllocationProperties memory = cuda::DeviceMemory(device_);
    for (size_t i = 0; i < count_; ++i) {
      AllocationHandle handle = 0;
      RK_RETURN_IF_ERROR(Check(
          api_.cuMemCreate(&handle, chunk_bytes_, &memory, 0), "cuMemCreate"));
      handles_.push_back(handle);
    }
    return absl::OkStatus();
  }

  absl::Status Map() {
    for (; mapped_ < count_; ++mapped_) {
      RK_RETURN_IF_ERROR(
          Check(api_.cuMemMap(address_ + mapped_ * chunk_bytes_, chunk_bytes_,
                              0, handles_[mapped_], 0),
                "cuMemMap"));
    }
    return absl::OkStatus();
  }

  absl::Status SetAccess() {
    const cuda::AccessDescription access = {
        {cuda::LocationType::kDevice, device_}, cuda::AccessFlags::kReadWrite};
    return Check(api_.cuMemSetAccess(address_, bytes(), &access, 1),
                 "cuMemSetAccess");
  }

  absl::Status Unmap() {
    const size_t mapped = std::exchange(mapped_, 0) * chunk_bytes_;
    if (mapped == 0) return absl::OkStatus();
    return Check(api_.cuMemUnmap(address_, mapped), "cuMemUnmap");
  }

  absl::Status Release() {
    absl::Status status;
    for (AllocationHandle handle : std::exchange(handles_, {})) {
      status.Update(Check(api_.cuMemRelease(handle), "cuMemRelease"));
    }
    return status;
  }

  absl::Status FreeRange() {
    const cuda::DevicePointer address = std::exchange(address_, 0);
    if (address == 0) return absl::OkStatus();
    return Check(api_.cuMemAddressFree(address, bytes()), "cuMemAddressFree");
  }

 private:
  absl::Status Check(cuda::Result result, const char* call) const {
    return scope_.Check(result, call);
  }
  size_t bytes() const { return chunk_bytes_ * count_; }

  const CallScope& scope_;
  const cuda::DriverApi& api_;
  const cuda::DeviceOrdinal device_;
  const size_t chunk_bytes_;
  const size_t count_;
  cuda::DevicePointer address_ = 0;
  std::vector<AllocationHandle> handles_;
  size_t mapped_ = 0;
};

}  // namespace

absl::StatusOr<VmmLatency> MeasureVmm(const cuda::DriverApi& api, int ordinal,
                                      size_t chunk_bytes, int count,
                                      int rounds) {
  cuda::DeviceOrdinal device = 0;
  RK_RETURN_IF_ERROR(
      cuda::ToStatus(api.cuDeviceGet(&device, ordinal), "cuDeviceGet"));
  RK_ASSIGN_OR_RETURN(const std::unique_ptr<cuda::Session> session,
                      cuda::Session::Open(api, device));
  const CallScope scope(*session, "measuring");
  RK_RETURN_IF_ERROR(scope.status());

  struct Verb {
    absl::Status (Round::*run)();
    double VmmLatency::*result;
    int calls;
    std::vector<double> times;
  };
  std::vector<Verb> verbs = {
      {&Round::Reserve, &VmmLatency::reserve, 1, {}},
      {&Round::Create, &VmmLatency::create, count, {}},
      {&Round::Map, &VmmLatency::map, count, {}},
      {&Round::SetAccess, &VmmLatency::access, 1, {}},
      {&Round::Unmap, &VmmLatency::unmap, 1, {}},
      {&Round::Release, &VmmLatency::release, count, {}},
      {&Round::FreeRange, &VmmLatency::free_range, 1, {}}};
  for (int i = 0; i < rounds; ++i) {
    Round round(scope, device, chunk_bytes, count);
    for (Verb& verb : verbs) {
      const auto start = std::chrono::steady_clock::now();
      RK_RETURN_IF_ERROR((round.*verb.run)());
      const std::chrono::duration<double, std::micro> took =
          std::chrono::steady_clock::now() - start;
      verb.times.push_back(took.count() / verb.calls);
    }
  }
  VmmLatency latency;
  latency.chunk_bytes = chunk_bytes;
  latency.count = count;
  for (const Verb& verb : verbs) latency.*verb.result = Median(verb.times);
  return latency;
}

}  // namespace rekindle
