// SPDX-License-Identifier: Apache-2.0
// Copies, fills, streams and events.
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/device/cuda/fake_calls.h"
#include "tests/device/cuda/fake_entry_points.h"

namespace rekindle::cuda {
namespace {

void* Pointer(DevicePointer address) {
  return reinterpret_cast<void*>(address);  // NOLINT
}

bool Overlap(DevicePointer a, DevicePointer b, size_t bytes) {
  return a < b + bytes && b < a + bytes;
}

}  // namespace

// Work. -----------------------------------------------------------------------

Result FakeEntryPoints::cuMemcpyDtoDAsync(DevicePointer to, DevicePointer from,
                                          size_t bytes, StreamHandle stream) {
  return InstalledDriver().ContextCall(
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
  FakeDriver& driver = InstalledDriver();
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
  return InstalledDriver().ContextCall(
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
  return InstalledDriver().ContextCall(
      "cuMemsetD8Async", [&](FakeDriver::State& state) {
        return state.work.Enqueue(
            stream, "cuMemsetD8Async", {{address, bytes}},
            [=] { std::memset(Pointer(address), value, bytes); });
      });
}

// Streams and events. ---------------------------------------------------------

Result FakeEntryPoints::cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return InstalledDriver().ContextCall(
      "cuStreamCreate", [&](FakeDriver::State& state) {
        return state.work.CreateStream(stream, flags);
      });
}

Result FakeEntryPoints::cuStreamDestroy(StreamHandle stream) {
  return InstalledDriver().ContextCall(
      "cuStreamDestroy", [&](FakeDriver::State& state) {
        return state.work.DestroyStream(stream);
      });
}

Result FakeEntryPoints::cuStreamSynchronize(StreamHandle stream) {
  return InstalledDriver().ContextCall(
      "cuStreamSynchronize",
      [&](FakeDriver::State& state) { return state.work.Synchronize(stream); });
}

Result FakeEntryPoints::cuStreamWaitEvent(StreamHandle stream,
                                          EventHandle event,
                                          unsigned /*flags*/) {
  return InstalledDriver().ContextCall(
      "cuStreamWaitEvent",
      [&](FakeDriver::State& state) { return state.work.Wait(stream, event); });
}

Result FakeEntryPoints::cuStreamIsCapturing(StreamHandle stream,
                                            CaptureStatus* status) {
  return InstalledDriver().ContextCall(
      "cuStreamIsCapturing", [&](FakeDriver::State& state) {
        return state.work.IsCapturing(stream, status);
      });
}

Result FakeEntryPoints::cuEventCreate(EventHandle* event, unsigned /*flags*/) {
  return InstalledDriver().ContextCall(
      "cuEventCreate",
      [&](FakeDriver::State& state) { return state.work.CreateEvent(event); });
}

Result FakeEntryPoints::cuEventDestroy(EventHandle event) {
  return InstalledDriver().ContextCall(
      "cuEventDestroy",
      [&](FakeDriver::State& state) { return state.work.DestroyEvent(event); });
}

Result FakeEntryPoints::cuEventRecord(EventHandle event, StreamHandle stream) {
  return InstalledDriver().ContextCall(
      "cuEventRecord", [&](FakeDriver::State& state) {
        return state.work.Record(event, stream);
      });
}

Result FakeEntryPoints::cuEventQuery(EventHandle event) {
  return InstalledDriver().ContextCall(
      "cuEventQuery",
      [&](FakeDriver::State& state) { return state.work.Query(event); });
}

}  // namespace rekindle::cuda
