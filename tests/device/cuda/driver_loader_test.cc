// SPDX-License-Identifier: Apache-2.0
// What is said where there is no GPU to be had.
#include "rekindle/device/cuda/driver_loader.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "rekindle/device/cuda/driver_error.h"
#include "rekindle/device/cuda/probe.h"
#include "tests/base/status_matchers.h"
#include "tests/device/cuda/fake_test.h"

namespace rekindle::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Kind = Problem::Kind;

struct Refusal {
  Probe probe;
  absl::Status status;  // of opening a device
};

Refusal Ask(const DriverSource& source, int ordinal = 0) {
  return {ProbeCuda(source), CudaDevice::Open(ordinal, source).status()};
}

Refusal Ask(const FakeDriverOptions& options, int ordinal = 0) {
  FakeDriver driver(options);
  Refusal refusal = Ask(driver.source(), ordinal);
  ExpectNoViolations(driver);
  ExpectNoLeaks(driver);
  return refusal;
}

// The probe and the device agree, and the message says why and what to do.
void ExpectRefusal(const Refusal& refusal, Kind kind, const std::string& reason,
                   const std::string& remedy) {
  EXPECT_EQ(refusal.probe.problem.kind, kind);
  EXPECT_THAT(refusal.probe.problem.reason, HasSubstr(reason));
  EXPECT_THAT(refusal.probe.problem.remedy, HasSubstr(remedy));
  EXPECT_EQ(refusal.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refusal.status.message()),
              AllOf(HasSubstr("cannot open cuda:0: "), HasSubstr(reason),
                    HasSubstr(remedy)));
}

TEST(DriverLoaderTest, NoLibrary) {
  FakeDriverOptions options;
  options.library = false;
  ExpectRefusal(Ask(options), Kind::kNoLibrary, "libcuda.so.1",
                "install the NVIDIA driver");
}

TEST(DriverLoaderTest, NoLibraryOfThatNameOnThisMachine) {
  ExpectRefusal(Ask(DriverLibrary("libno-such-driver.so.1")), Kind::kNoLibrary,
                "libno-such-driver.so.1", "install the NVIDIA driver");
}

TEST(DriverLoaderTest, StubLibrary) {
  FakeDriverOptions options;
  options.stub = true;
  ExpectRefusal(Ask(options), Kind::kStubLibrary, "stub", "LD_LIBRARY_PATH");
}

TEST(DriverLoaderTest, StubLibraryFromAFile) {
  ExpectRefusal(Ask(DriverLibrary(REKINDLE_STUB_DRIVER)), Kind::kStubLibrary,
                "stub", "LD_LIBRARY_PATH");
}

TEST(DriverLoaderTest, ALibraryThatIsNoDriver) {
  ExpectRefusal(Ask(DriverLibrary("libc.so.6")), Kind::kDriverTooOld,
                "cuGetProcAddress_v2", "install an NVIDIA driver");
}

TEST(DriverLoaderTest, DriverTooOld) {
  FakeDriverOptions options;
  options.version = 11040;
  const Refusal refusal = Ask(options);
  ExpectRefusal(refusal, Kind::kDriverTooOld, "for CUDA 11.4",
                "for CUDA 12.0 or later");
  EXPECT_THAT(refusal.probe.problem.reason, HasSubstr("cuGetProcAddress_v2"));
  EXPECT_EQ(refusal.probe.driver_version, 11040);
}

TEST(DriverLoaderTest, TheOldestDriverThatWillDo) {
  FakeDriverOptions options;
  options.version = kRequiredDriver;
  EXPECT_THAT(Ask(options).status, IsOk());
}

TEST(DriverLoaderTest, EachEntryPointThatIsMissingIsNamed) {
  std::vector<std::string> names;
#define RK_CUDA_NAME(name, ...) names.push_back(#name);
  RK_CUDA_ENTRY_POINTS(RK_CUDA_NAME)
#undef RK_CUDA_NAME
  EXPECT_GT(names.size(), 30u);
  for (const std::string& name : names) {
    FakeDriverOptions options;
    options.missing = {name};
    ExpectRefusal(Ask(options), Kind::kNoEntryPoint,
                  absl::StrCat("no entry point ", name),
                  "reinstall the NVIDIA driver");
  }
}

TEST(DriverLoaderTest, NoDevice) {
  FakeDriverOptions options;
  options.devices = 0;
  ExpectRefusal(Ask(options), Kind::kNoDevice, "no CUDA device",
                "CUDA_VISIBLE_DEVICES");
}

TEST(DriverLoaderTest, NoVirtualMemoryManagement) {
  FakeDriverOptions options;
  options.maps_memory = false;
  options.name = "Old GPU";
  const Refusal refusal = Ask(options);
  ExpectRefusal(refusal, Kind::kNoVirtualMemory,
                "cuda:0 (Old GPU, compute 8.0) has no virtual memory",
                "another GPU");
  ASSERT_EQ(refusal.probe.devices.size(), 1u);
  EXPECT_FALSE(refusal.probe.devices[0].maps_memory);
  EXPECT_EQ(refusal.probe.devices[0].granularity, 0u);
}

TEST(DriverLoaderTest, OrdinalOutOfRange) {
  FakeDriverOptions options;
  options.devices = 2;
  for (const int ordinal : {-1, 2, 1000}) {
    const absl::Status status = Ask(options, ordinal).status;
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(absl::StrCat("no cuda:", ordinal)),
                      HasSubstr("2 devices"), HasSubstr("cuda:0 to cuda:1")));
  }
}

TEST(DriverLoaderTest, AnyCallOfTheProbeMayFail) {
  for (const char* const call :
       {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName",
        "cuDeviceTotalMem", "cuDeviceGetAttribute",
        "cuMemGetAllocationGranularity"}) {
    FakeDriver driver;
    driver.FailCall(call, 1, Result::kSystemNotReady);
    const Probe probe = ProbeCuda(driver.source());
    EXPECT_EQ(probe.problem.kind, Kind::kDriverFailed);
    EXPECT_THAT(
        probe.problem.reason,
        AllOf(HasSubstr(call), HasSubstr("CUDA_ERROR_SYSTEM_NOT_READY")));
    EXPECT_FALSE(probe.problem.remedy.empty());
    driver.FailCall(call, 1, Result::kSystemNotReady);
    const absl::Status status = CudaDevice::Open(0, driver.source()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr(call));
    ExpectNoLeaks(driver);
  }
}

TEST(DriverLoaderTest, AGranularityThatIsNoPowerOfTwoIsRefused) {
  FakeDriverOptions options;
  options.granularity = 3 * kMiB;
  const absl::Status status = Ask(options).status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("3145728"));
}

TEST(DriverLoaderTest, TheProbeDescribesTheDevices) {
  FakeDriverOptions options;
  options.devices = 2;
  options.memory = 80 * kGiB;
  options.version = 12040;
  options.name = "Fake H1";
  FakeDriver driver(options);
  const Probe probe = ProbeCuda(driver.source());
  EXPECT_TRUE(probe.problem.none());
  EXPECT_THAT(ToStatus(probe.problem), IsOk());
  EXPECT_EQ(probe.driver_version, 12040);
  EXPECT_EQ(VersionName(probe.driver_version), "12.4");
  ASSERT_EQ(probe.devices.size(), 2u);
  const GpuInfo& gpu = probe.devices[1];
  EXPECT_EQ(gpu.ordinal, 1);
  EXPECT_EQ(gpu.name, "Fake H1");
  EXPECT_EQ(gpu.memory, 80 * kGiB);
  EXPECT_EQ(gpu.compute_major, 8);
  EXPECT_EQ(gpu.compute_minor, 0);
  EXPECT_TRUE(gpu.maps_memory);
  EXPECT_EQ(gpu.granularity, 2 * kMiB);
  EXPECT_EQ(driver.calls("cuDevicePrimaryCtxRetain"), 0);
}

TEST(DriverErrorTest, CodesBecomeStatuses) {
  EXPECT_THAT(ToStatus(Result::kSuccess, "cuInit"), IsOk());
  const absl::Status memory = ToStatus(Result::kOutOfMemory, "cuMemCreate");
  EXPECT_THAT(memory, IsResourceExhausted());
  EXPECT_THAT(std::string(memory.message()),
              HasSubstr("cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_THAT(ToStatus(Result::kInvalidValue, "x"), IsInvalidArgument());
  EXPECT_THAT(ToStatus(Result::kCaptureUnsupported, "x"),
              IsFailedPrecondition());
  EXPECT_EQ(ToStatus(Result::kIllegalAddress, "x").code(),
            absl::StatusCode::kInternal);
  const absl::Status unknown = ToStatus(static_cast<Result>(12345), "x");
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(unknown.message(), "x: CUDA error 12345");
}

TEST(DriverErrorTest, ErrorsThatLoseTheContextStay) {
  for (const Result result :
       {Result::kIllegalAddress, Result::kLaunchFailed, Result::kLaunchTimeout,
        Result::kMisalignedAddress, Result::kAssert,
        Result::kEccUncorrectable}) {
    EXPECT_TRUE(IsSticky(result)) << ErrorName(result);
  }
  for (const Result result :
       {Result::kSuccess, Result::kOutOfMemory, Result::kInvalidValue,
        Result::kNotReady, Result::kCaptureImplicit,
        static_cast<Result>(12345)}) {
    EXPECT_FALSE(IsSticky(result)) << ErrorName(result);
  }
}

}  // namespace
}  // namespace rekindle::cuda
