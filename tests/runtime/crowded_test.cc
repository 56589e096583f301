// SPDX-License-Identifier: Apache-2.0
// Another process takes memory of the device.
#include <memory>
#include <string>
#include <vector>

#include "tests/device/crowded_device.h"
#include "tests/runtime/runtime_fixture.h"

namespace rekindle {
namespace {

using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

class CrowdedTest : public RuntimeTest {
 protected:
  // A budget of 64 chunks on a device with 8 of them left.
  CrowdedTest() {
    inner_ = SmallDevice();
    device_ = std::make_shared<CrowdedDevice>(*inner_, 8 * kChunk);
    RuntimeOptions options = Options(Chunks(64));
    options.custom_device = device_;
    Open(std::move(options));
  }
  ~CrowdedTest() override { rt_.reset(); }

  // x, x + 1, x + 2, ...
  std::vector<Tensor> Chain(int length) {
    std::vector<Tensor> chain = {Full(0)};
    while (static_cast<int>(chain.size()) < length) {
      chain.push_back(Add(chain.back(), 1));
    }
    return chain;
  }
  static void ExpectValues(const std::vector<Tensor>& chain) {
    for (size_t i = 0; i < chain.size(); ++i) {
      EXPECT_EQ(Value(chain[i]), static_cast<float>(i));
    }
  }

  std::shared_ptr<Device> inner_;
  std::shared_ptr<CrowdedDevice> device_;
};

TEST_F(CrowdedTest, TheProgramGoesOnAfterOneWarning) {
  CaptureStderr();
  const std::vector<Tensor> chain = Chain(40);
  ExpectValues(chain);
  ExpectValues(chain);
  EXPECT_EQ(GetCapturedStderr(),
            "rekindle: warning: the device has only 32.00 KiB of the budget of "
            "256.00 KiB left: another process may hold memory\n");
  EXPECT_GT(rt_->Stats().engine.evictions, 0);
  EXPECT_EQ(rt_->Stats().allocator.effective_budget, 8 * kChunk);
}

TEST_F(CrowdedTest, ASecondFallIsASecondWarning) {
  CaptureStderr();
  const std::vector<Tensor> chain = Chain(20);
  device_->SetRoom(12 * kChunk);
  // The device is asked again after a while; then it gives 4 chunks more.
  for (int i = 0; i < 50; ++i) ExpectValues(chain);
  EXPECT_EQ(rt_->Stats().allocator.effective_budget, 12 * kChunk);
  const std::string warnings = GetCapturedStderr();
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 2) << warnings;
  EXPECT_THAT(warnings, HasSubstr("only 48.00 KiB"));
}

TEST_F(CrowdedTest, AnErrorNamesBothBudgets) {
  CaptureStderr();
  const Tensor large = rt_->Constant(F32({20 * kN}), nullptr, {});
  const absl::StatusOr<Floats> values = large.ToHost<float>();
  GetCapturedStderr();
  EXPECT_THAT(values.status(), IsResourceExhausted());
  EXPECT_THAT(std::string(values.status().message()),
              HasSubstr("budget 256.00 KiB (of which the device has only "
                        "32.00: another process may hold memory)"));
}

}  // namespace
}  // namespace rekindle
