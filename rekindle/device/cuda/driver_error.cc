// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/cuda/driver_error.h"

#include "absl/strings/str_cat.h"

namespace rekindle::cuda {
namespace {

using absl::StatusCode;

constexpr bool kStays = true;

struct Row {
  Result result;
  const char* name;
  StatusCode code;
  const char* meaning;
  bool sticky = false;
};

constexpr char kCaptureRule[] =
    "not allowed while a stream is being captured into a graph";

constexpr Row kRows[] = {
    {Result::kInvalidValue, "CUDA_ERROR_INVALID_VALUE",
     StatusCode::kInvalidArgument, "the driver refuses an argument"},
    {Result::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY",
     StatusCode::kResourceExhausted, "the device has no more memory"},
    {Result::kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED",
     StatusCode::kFailedPrecondition, "cuInit has not run in this process"},
    {Result::kDeinitialized, "CUDA_ERROR_DEINITIALIZED",
     StatusCode::kUnavailable, "the process is ending", kStays},
    {Result::kStubLibrary, "CUDA_ERROR_STUB_LIBRARY", StatusCode::kUnavailable,
     "the library is a stub for linking, not a driver"},
    {Result::kDeviceUnavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     StatusCode::kUnavailable, "another process has the device to itself"},
    {Result::kNoDevice, "CUDA_ERROR_NO_DEVICE", StatusCode::kUnavailable,
     "there is no CUDA device"},
    {Result::kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE",
     StatusCode::kUnavailable, "there is no device of that number"},
    {Result::kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT",
     StatusCode::kInternal, "the device's context is not current"},
    {Result::kEccUncorrectable, "CUDA_ERROR_ECC_UNCORRECTABLE",
     StatusCode::kInternal, "the device's memory is damaged", kStays},
    {Result::kNvlinkUncorrectable, "CUDA_ERROR_NVLINK_UNCORRECTABLE",
     StatusCode::kInternal, "a link between devices failed", kStays},
    {Result::kContained, "CUDA_ERROR_CONTAINED", StatusCode::kInternal,
     "a hardware error was contained; the bytes it touched are lost", kStays},
    {Result::kOperatingSystem, "CUDA_ERROR_OPERATING_SYSTEM",
     StatusCode::kInternal, "a call to the operating system failed"},
    {Result::kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE",
     StatusCode::kInvalidArgument, "the driver does not know the handle"},
    {Result::kIllegalState, "CUDA_ERROR_ILLEGAL_STATE",
     StatusCode::kFailedPrecondition, "not allowed in this state"},
    {Result::kNotFound, "CUDA_ERROR_NOT_FOUND", StatusCode::kNotFound,
     "no such symbol"},
    {Result::kNotReady, "CUDA_ERROR_NOT_READY", StatusCode::kUnavailable,
     "work is still queued"},
    {Result::kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     StatusCode::kInternal, "queued work touched an address not mapped",
     kStays},
    {Result::kLaunchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT", StatusCode::kInternal,
     "a kernel ran too long", kStays},
    {Result::kContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED",
     StatusCode::kInternal, "somebody destroyed or reset the context", kStays},
    {Result::kAssert, "CUDA_ERROR_ASSERT", StatusCode::kInternal,
     "an assertion failed in a kernel", kStays},
    {Result::kHardwareStackError, "CUDA_ERROR_HARDWARE_STACK_ERROR",
     StatusCode::kInternal, "a kernel broke its stack", kStays},
    {Result::kIllegalInstruction, "CUDA_ERROR_ILLEGAL_INSTRUCTION",
     StatusCode::kInternal, "a kernel met an illegal instruction", kStays},
    {Result::kMisalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS",
     StatusCode::kInternal, "a kernel used a misaligned address", kStays},
    {Result::kInvalidAddressSpace, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     StatusCode::kInternal, "a kernel used an address of another space",
     kStays},
    {Result::kInvalidPc, "CUDA_ERROR_INVALID_PC", StatusCode::kInternal,
     "a kernel jumped out of its code", kStays},
    {Result::kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", StatusCode::kInternal,
     "a kernel died", kStays},
    {Result::kNotPermitted, "CUDA_ERROR_NOT_PERMITTED",
     StatusCode::kFailedPrecondition, "not permitted here"},
    {Result::kNotSupported, "CUDA_ERROR_NOT_SUPPORTED",
     StatusCode::kUnimplemented, "this driver or device cannot do it"},
    {Result::kSystemNotReady, "CUDA_ERROR_SYSTEM_NOT_READY",
     StatusCode::kUnavailable,
     "the system is not ready: is the fabric manager running?"},
    {Result::kSystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     StatusCode::kUnavailable,
     "kernel module and driver library differ: reload the module or reboot"},
    {Result::kCompatNotSupported, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
     StatusCode::kUnavailable,
     "the compatibility library does not support this device"},
    {Result::kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     StatusCode::kFailedPrecondition, kCaptureRule},
    {Result::kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     StatusCode::kFailedPrecondition, "the capture of a stream was broken off"},
    {Result::kCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     StatusCode::kFailedPrecondition, "two captures would be joined"},
    {Result::kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     StatusCode::kFailedPrecondition, "a capture began on another stream"},
    {Result::kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     StatusCode::kFailedPrecondition, "a capture has forks not joined"},
    {Result::kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     StatusCode::kFailedPrecondition, "a capture would reach outside itself"},
    {Result::kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     StatusCode::kFailedPrecondition,
     "a stream that waits for the default one is being captured"},
    {Result::kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT",
     StatusCode::kFailedPrecondition, "the event was recorded in a capture"},
    {Result::kCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     StatusCode::kFailedPrecondition, "a capture began on another thread"},
    {Result::kUnknown, "CUDA_ERROR_UNKNOWN", StatusCode::kInternal,
     "the driver does not say why"},
};

const Row* Find(Result result) {
  for (const Row& row : kRows) {
    if (row.result == result) return &row;
  }
  return nullptr;
}

}  // namespace

std::string ErrorName(Result result) {
  if (result == Result::kSuccess) return "CUDA_SUCCESS";
  const Row* const row = Find(result);
  if (row != nullptr) return row->name;
  return absl::StrCat("CUDA error ", static_cast<int>(result));
}

bool IsSticky(Result result) {
  const Row* const row = Find(result);
  return row != nullptr && row->sticky;
}

absl::Status ToStatus(Result result, absl::string_view call) {
  if (result == Result::kSuccess) return absl::OkStatus();
  const Row* const row = Find(result);
  std::string message = absl::StrCat(call, ": ", ErrorName(result));
  if (row == nullptr) return absl::InternalError(message);
  absl::StrAppend(&message, " (", row->meaning, ")");
  return absl::Status(row->code, message);
}

}  // namespace rekindle::cuda
