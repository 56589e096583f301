// SPDX-License-Identifier: Apache-2.0
// Compares driver_api.h with the toolkit's header. No code; built only where
// there is a toolkit.
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "rekindle/device/cuda/driver_api.h"

namespace rekindle::cuda {
namespace {

#define RK_SAME(ours, theirs) \
  static_assert(static_cast<long>(ours) == static_cast<long>(theirs))

RK_SAME(Result::kSuccess, CUDA_SUCCESS);
RK_SAME(Result::kInvalidValue, CUDA_ERROR_INVALID_VALUE);
RK_SAME(Result::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
RK_SAME(Result::kNotInitialized, CUDA_ERROR_NOT_INITIALIZED);
RK_SAME(Result::kDeinitialized, CUDA_ERROR_DEINITIALIZED);
RK_SAME(Result::kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
RK_SAME(Result::kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
RK_SAME(Result::kNoDevice, CUDA_ERROR_NO_DEVICE);
RK_SAME(Result::kInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
RK_SAME(Result::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
RK_SAME(Result::kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
RK_SAME(Result::kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
RK_SAME(Result::kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
RK_SAME(Result::kInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
RK_SAME(Result::kIllegalState, CUDA_ERROR_ILLEGAL_STATE);
RK_SAME(Result::kNotFound, CUDA_ERROR_NOT_FOUND);
RK_SAME(Result::kNotReady, CUDA_ERROR_NOT_READY);
RK_SAME(Result::kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
RK_SAME(Result::kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
RK_SAME(Result::kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
RK_SAME(Result::kAssert, CUDA_ERROR_ASSERT);
RK_SAME(Result::kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
RK_SAME(Result::kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
RK_SAME(Result::kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
RK_SAME(Result::kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
RK_SAME(Result::kInvalidPc, CUDA_ERROR_INVALID_PC);
RK_SAME(Result::kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
RK_SAME(Result::kNotPermitted, CUDA_ERROR_NOT_PERMITTED);
RK_SAME(Result::kNotSupported, CUDA_ERROR_NOT_SUPPORTED);
RK_SAME(Result::kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
RK_SAME(Result::kSystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
RK_SAME(Result::kCompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
RK_SAME(Result::kCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
RK_SAME(Result::kCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
RK_SAME(Result::kCaptureMerge, CUDA_ERROR_STREAM_CAPTURE_MERGE);
RK_SAME(Result::kCaptureUnmatched, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
RK_SAME(Result::kCaptureUnjoined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
RK_SAME(Result::kCaptureIsolation, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
RK_SAME(Result::kCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
RK_SAME(Result::kCapturedEvent, CUDA_ERROR_CAPTURED_EVENT);
RK_SAME(Result::kCaptureWrongThread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
RK_SAME(Result::kUnknown, CUDA_ERROR_UNKNOWN);
#if CUDA_VERSION >= 13000
RK_SAME(Result::kContained, CUDA_ERROR_CONTAINED);
#endif

RK_SAME(DeviceAttribute::kComputeCapabilityMajor,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
RK_SAME(DeviceAttribute::kComputeCapabilityMinor,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
RK_SAME(DeviceAttribute::kVirtualMemoryManagement,
        CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
RK_SAME(LocationType::kDevice, CU_MEM_LOCATION_TYPE_DEVICE);
RK_SAME(AllocationType::kPinned, CU_MEM_ALLOCATION_TYPE_PINNED);
RK_SAME(Granularity::kMinimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
RK_SAME(Granularity::kRecommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
RK_SAME(AccessFlags::kNone, CU_MEM_ACCESS_FLAGS_PROT_NONE);
RK_SAME(AccessFlags::kRead, CU_MEM_ACCESS_FLAGS_PROT_READ);
RK_SAME(AccessFlags::kReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
RK_SAME(CaptureStatus::kNone, CU_STREAM_CAPTURE_STATUS_NONE);
RK_SAME(CaptureStatus::kActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
RK_SAME(CaptureStatus::kInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
RK_SAME(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
RK_SAME(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
RK_SAME(kLegacyStream, CU_GET_PROC_ADDRESS_LEGACY_STREAM);

static_assert(std::is_same_v<DevicePointer, CUdeviceptr>);
static_assert(std::is_same_v<AllocationHandle, CUmemGenericAllocationHandle>);
static_assert(std::is_same_v<DeviceOrdinal, CUdevice>);
static_assert(sizeof(Result) == sizeof(CUresult));
static_assert(sizeof(DeviceAttribute) == sizeof(CUdevice_attribute));
static_assert(sizeof(CaptureStatus) == sizeof(CUstreamCaptureStatus));

static_assert(sizeof(MemoryLocation) == sizeof(CUmemLocation));
RK_SAME(offsetof(MemoryLocation, type), offsetof(CUmemLocation, type));
RK_SAME(offsetof(MemoryLocation, id), offsetof(CUmemLocation, id));

using Ours = AllocationProperties;
using Theirs = CUmemAllocationProp;
static_assert(sizeof(Ours) == sizeof(Theirs));
RK_SAME(offsetof(Ours, type), offsetof(Theirs, type));
RK_SAME(offsetof(Ours, requested_handle_types),
        offsetof(Theirs, requestedHandleTypes));
RK_SAME(offsetof(Ours, location), offsetof(Theirs, location));
RK_SAME(offsetof(Ours, win32_handle_meta_data),
        offsetof(Theirs, win32HandleMetaData));
RK_SAME(offsetof(Ours, flags), offsetof(Theirs, allocFlags));

static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc));
RK_SAME(offsetof(AccessDescription, location),
        offsetof(CUmemAccessDesc, location));
RK_SAME(offsetof(AccessDescription, flags), offsetof(CUmemAccessDesc, flags));

// Maps our parameter types to theirs, so that whole signatures compare.
template <typename T>
struct Translate {
  using type = T;
};
template <typename T>
using Translated = typename Translate<T>::type;
template <typename T>
struct Translate<T*> {
  using type = Translated<T>*;
};
template <typename T>
struct Translate<const T> {
  using type = const Translated<T>;
};
#define RK_TRANSLATES(ours, theirs) \
  template <>                       \
  struct Translate<ours> {          \
    using type = theirs;            \
  }
RK_TRANSLATES(Context, CUcontext);
RK_TRANSLATES(StreamHandle, CUstream);
RK_TRANSLATES(EventHandle, CUevent);
RK_TRANSLATES(DeviceAttribute, CUdevice_attribute);
RK_TRANSLATES(AllocationProperties, CUmemAllocationProp);
RK_TRANSLATES(AccessDescription, CUmemAccessDesc);
RK_TRANSLATES(Granularity, CUmemAllocationGranularity_flags);
RK_TRANSLATES(CaptureStatus, CUstreamCaptureStatus);

template <typename... Args>
using TheirFunction = CUresult (*)(Translated<Args>...);
template <typename... Args>
TheirFunction<Args...> Translation(Result (*)(Args...));

// The header's macros give each base name the form that is current.
#define RK_SAME_SIGNATURE(name, ...)       \
  static_assert(                           \
      std::is_same_v<decltype(&::name),    \
                     decltype(Translation( \
                         static_cast<Result (*)(__VA_ARGS__)>(nullptr)))>);
#define RK_EXPAND(name, ...) RK_SAME_SIGNATURE(name, __VA_ARGS__)
RK_CUDA_ENTRY_POINTS(RK_EXPAND)

}  // namespace
}  // namespace rekindle::cuda
