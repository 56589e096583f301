// SPDX-License-Identifier: Apache-2.0
#include "rekindle/device/cuda/driver_loader.h"

#include <dlfcn.h>

#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rekindle/device/cuda/driver_error.h"

namespace rekindle::cuda {
namespace {

template <typename Function>
Function Find(const DriverSource::Symbols& symbols, const char* name) {
  return reinterpret_cast<Function>(symbols(name));
}

Problem NoLibrary(std::string reason) {
  return {Problem::Kind::kNoLibrary,
          absl::StrCat("there is no CUDA driver library: ", reason),
          "install the NVIDIA driver, and in a container let it in (for "
          "docker: --gpus all)"};
}

Problem StubLibrary() {
  return {Problem::Kind::kStubLibrary,
          "libcuda.so.1 is the toolkit's stub, made for linking only",
          "remove the toolkit's stubs folder from LD_LIBRARY_PATH"};
}

Problem TooOld(int version, absl::string_view missing) {
  const std::string found =
      version == 0 ? "of unknown version"
                   : absl::StrCat("for CUDA ", VersionName(version));
  return {Problem::Kind::kDriverTooOld,
          absl::StrCat("the driver is too old: it is ", found, " and has no ",
                       missing, "; required is CUDA ",
                       VersionName(kRequiredDriver)),
          absl::StrCat("install an NVIDIA driver for CUDA ",
                       VersionName(kRequiredDriver), " or later")};
}

Problem Missing(int version, absl::string_view name) {
  if (version < kRequiredDriver) return TooOld(version, name);
  return {Problem::Kind::kNoEntryPoint,
          absl::StrCat("the driver for CUDA ", VersionName(version),
                       " has no entry point ", name),
          "reinstall the NVIDIA driver"};
}

Problem Failed(absl::string_view call, Result result) {
  if (result == Result::kStubLibrary) return StubLibrary();
  if (result == Result::kNoDevice) return NoDevice();
  return {Problem::Kind::kDriverFailed,
          std::string(ToStatus(result, call).message()),
          "check that nvidia-smi works and that this user may open "
          "/dev/nvidia*"};
}

// Sets every member of `api`, or says which one there is not.
Problem ResolveAll(GetProcAddress resolve, int version, DriverApi& api) {
  Problem problem;
  const auto one = [&](const char* name, auto& function) {
    if (!problem.none()) return;
    void* found = nullptr;
    int status = 0;
    const Result result =
        resolve(name, &found, kRequiredDriver, kLegacyStream, &status);
    if (result == Result::kStubLibrary) {
      problem = StubLibrary();
    } else if (result != Result::kSuccess || found == nullptr) {
      problem = Missing(version, name);
    } else {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    }
  };
#define RK_CUDA_RESOLVE(name, ...) one(#name, api.name);
  RK_CUDA_ENTRY_POINTS(RK_CUDA_RESOLVE)
#undef RK_CUDA_RESOLVE
  return problem;
}

}  // namespace

absl::Status ToStatus(const Problem& problem) {
  if (problem.none()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(problem.reason, "; ", problem.remedy));
}

Problem NoDevice() {
  return {Problem::Kind::kNoDevice, "the driver sees no CUDA device",
          "check that nvidia-smi lists a GPU and that CUDA_VISIBLE_DEVICES "
          "does not hide it"};
}

DriverSource DriverLibrary(std::string file) {
  DriverSource source;
  source.open =
      [file = std::move(file)](std::string* reason) -> DriverSource::Symbols {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const error = dlerror();
      *reason = error != nullptr ? error : "dlopen gives no reason";
      return nullptr;
    }
    return [library](const char* name) { return dlsym(library, name); };
  };
  return source;
}

LoadedDriver LoadDriver(const DriverSource& source) {
  LoadedDriver driver;
  std::string reason;
  const DriverSource::Symbols symbols = source.open(&reason);
  if (symbols == nullptr) {
    driver.problem = NoLibrary(std::move(reason));
    return driver;
  }
  if (const auto get_version =
          Find<GetDriverVersion>(symbols, "cuDriverGetVersion")) {
    const Result result = get_version(&driver.version);
    if (result != Result::kSuccess) {
      driver.problem = Failed("cuDriverGetVersion", result);
      return driver;
    }
  }
  const auto resolve = Find<GetProcAddress>(symbols, "cuGetProcAddress_v2");
  if (resolve == nullptr) {
    driver.problem = Missing(driver.version, "cuGetProcAddress_v2");
  } else if (driver.version < kRequiredDriver) {
    driver.problem = TooOld(driver.version, "entry points of that version");
  } else {
    driver.problem = ResolveAll(resolve, driver.version, driver.api);
  }
  if (!driver.problem.none()) return driver;
  const Result result = driver.api.cuInit(0);
  if (result != Result::kSuccess) driver.problem = Failed("cuInit", result);
  return driver;
}

std::string VersionName(int version) {
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace rekindle::cuda
