// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that Rekindle calls, declared here so that
// no toolkit is needed to build. With one, driver_abi_check.cc compares.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rekindle::cuda {

// Driver versions are 1000 * major + 10 * minor. All entry points below are in
// CUDA 12.0 and have not changed since.
inline constexpr int kRequiredDriver = 12000;

// CUresult: the codes that are told apart here. A driver may return others.
enum class Result : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kDeinitialized = 4,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kEccUncorrectable = 214,
  kNvlinkUncorrectable = 220,
  kContained = 226,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchTimeout = 702,
  kContextIsDestroyed = 709,
  kAssert = 710,
  kHardwareStackError = 714,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kInvalidAddressSpace = 717,
  kInvalidPc = 718,
  kLaunchFailed = 719,
  kNotPermitted = 800,
  kNotSupported = 801,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kCompatNotSupported = 804,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureMerge = 902,
  kCaptureUnmatched = 903,
  kCaptureUnjoined = 904,
  kCaptureIsolation = 905,
  kCaptureImplicit = 906,
  kCapturedEvent = 907,
  kCaptureWrongThread = 908,
  kUnknown = 999,
};

using DeviceOrdinal = int;                    // CUdevice
using DevicePointer = unsigned long long;     // CUdeviceptr
using AllocationHandle = unsigned long long;  // CUmemGenericAllocationHandle
using Context = struct ContextTag*;           // CUcontext
using StreamHandle = struct StreamTag*;       // CUstream
using EventHandle = struct EventTag*;         // CUevent

enum class DeviceAttribute : int {  // CUdevice_attribute
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kVirtualMemoryManagement = 102,
};

enum class LocationType : int { kInvalid = 0, kDevice = 1 };
enum class AllocationType : int { kInvalid = 0, kPinned = 1 };
enum class Granularity : int { kMinimum = 0, kRecommended = 1 };
enum class AccessFlags : int { kNone = 0, kRead = 1, kReadWrite = 3 };
enum class CaptureStatus : int { kNone = 0, kActive = 1, kInvalidated = 2 };

inline constexpr unsigned kStreamNonBlocking = 1;   // CU_STREAM_NON_BLOCKING
inline constexpr unsigned kEventDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING

struct MemoryLocation {  // CUmemLocation
  LocationType type = LocationType::kInvalid;
  int id = 0;
};

struct AllocationProperties {  // CUmemAllocationProp
  AllocationType type = AllocationType::kInvalid;
  int requested_handle_types = 0;
  MemoryLocation location;
  void* win32_handle_meta_data = nullptr;
  struct {
    unsigned char compression_type = 0;
    unsigned char gpu_direct_rdma_capable = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};

struct AccessDescription {  // CUmemAccessDesc
  MemoryLocation location;
  AccessFlags flags = AccessFlags::kNone;
};

// cuGetProcAddress_v2, the one symbol looked up by name with cuDriverGetVersion
// beside it: `version` picks the form of the function, `found` says why not.
using GetProcAddress = Result (*)(const char* name, void** function,
                                  int version, uint64_t flags, int* found);
inline constexpr uint64_t kLegacyStream = 1;  // handle 0 is the legacy stream

using GetDriverVersion = Result (*)(int* version);

// Every entry point: its base name, then its parameters. cuGetProcAddress
// resolves a base name to the form of kRequiredDriver (v2 where there is one).
#define RK_CUDA_ENTRY_POINTS(ENTRY)                                            \
  ENTRY(cuInit, unsigned flags)                                                \
  ENTRY(cuDeviceGetCount, int* count)                                          \
  ENTRY(cuDeviceGet, DeviceOrdinal* device, int ordinal)                       \
  ENTRY(cuDeviceGetName, char* name, int length, DeviceOrdinal device)         \
  ENTRY(cuDeviceTotalMem, size_t* bytes, DeviceOrdinal device)                 \
  ENTRY(cuDeviceGetAttribute, int* value, DeviceAttribute attribute,           \
        DeviceOrdinal device)                                                  \
  ENTRY(cuDevicePrimaryCtxRetain, Context* context, DeviceOrdinal device)      \
  ENTRY(cuDevicePrimaryCtxRelease, DeviceOrdinal device)                       \
  ENTRY(cuCtxGetCurrent, Context* context)                                     \
  ENTRY(cuCtxPushCurrent, Context context)                                     \
  ENTRY(cuCtxPopCurrent, Context* context)                                     \
  ENTRY(cuCtxSynchronize, )                                                    \
  ENTRY(cuMemGetInfo, size_t* free, size_t* total)                             \
  ENTRY(cuMemGetAllocationGranularity, size_t* granularity,                    \
        const AllocationProperties* properties, Granularity option)            \
  ENTRY(cuMemAddressReserve, DevicePointer* address, size_t bytes,             \
        size_t alignment, DevicePointer hint, unsigned long long flags)        \
  ENTRY(cuMemAddressFree, DevicePointer address, size_t bytes)                 \
  ENTRY(cuMemCreate, AllocationHandle* handle, size_t bytes,                   \
        const AllocationProperties* properties, unsigned long long flags)      \
  ENTRY(cuMemRelease, AllocationHandle handle)                                 \
  ENTRY(cuMemMap, DevicePointer address, size_t bytes, size_t offset,          \
        AllocationHandle handle, unsigned long long flags)                     \
  ENTRY(cuMemUnmap, DevicePointer address, size_t bytes)                       \
  ENTRY(cuMemSetAccess, DevicePointer address, size_t bytes,                   \
        const AccessDescription* access, size_t count)                         \
  ENTRY(cuMemcpyDtoDAsync, DevicePointer to, DevicePointer from, size_t bytes, \
        StreamHandle stream)                                                   \
  ENTRY(cuMemcpyHtoDAsync, DevicePointer to, const void* from, size_t bytes,   \
        StreamHandle stream)                                                   \
  ENTRY(cuMemcpyDtoHAsync, void* to, DevicePointer from, size_t bytes,         \
        StreamHandle stream)                                                   \
  ENTRY(cuMemsetD8Async, DevicePointer address, unsigned char value,           \
        size_t bytes, StreamHandle stream)                                     \
  ENTRY(cuStreamCreate, StreamHandle* stream, unsigned flags)                  \
  ENTRY(cuStreamDestroy, StreamHandle stream)                                  \
  ENTRY(cuStreamSynchronize, StreamHandle stream)                              \
  ENTRY(cuStreamWaitEvent, StreamHandle stream, EventHandle event,             \
        unsigned flags)                                                        \
  ENTRY(cuStreamIsCapturing, StreamHandle stream, CaptureStatus* status)       \
  ENTRY(cuEventCreate, EventHandle* event, unsigned flags)                     \
  ENTRY(cuEventDestroy, EventHandle event)                                     \
  ENTRY(cuEventRecord, EventHandle event, StreamHandle stream)                 \
  ENTRY(cuEventQuery, EventHandle event)

// The entry points of one driver. Thread-safe, as the driver is.
struct DriverApi {
#define RK_CUDA_MEMBER(name, ...) Result (*name)(__VA_ARGS__) = nullptr;
  RK_CUDA_ENTRY_POINTS(RK_CUDA_MEMBER)
#undef RK_CUDA_MEMBER
};

}  // namespace rekindle::cuda
