// SPDX-License-Identifier: Apache-2.0
#include "rekindle/runtime/open_device.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/device/host/host_device.h"

namespace rekindle::internal {

bool IsCudaName(const std::string& name) {
  absl::string_view number = name;
  if (!absl::ConsumePrefix(&number, "cuda:")) return false;
  return !number.empty() && number.size() <= 4 &&
         absl::c_all_of(number, absl::ascii_isdigit);
}

absl::StatusOr<std::shared_ptr<Device>> OpenDevice(const std::string& name) {
  // "auto" is the host for as long as operators run nowhere else.
  if (name == "host" || name == "auto") {
    RK_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, HostDevice::Open({}));
    return device;
  }
  if (name == "counting") {
    RK_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                        CountingDevice::Open({}));
    return device;
  }
  if (IsCudaName(name)) {
    return absl::UnavailableError(
        absl::StrCat("cannot open device ", name,
                     " by its name: operators run on the host only. A program "
                     "with kernels of its own links rekindle::cuda and sets "
                     "RuntimeOptions::custom_device to OpenCudaDevice(0)"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(name),
                   "\" is not a device: accepted are auto, host, counting and "
                   "cuda:0"));
}

}  // namespace rekindle::internal
