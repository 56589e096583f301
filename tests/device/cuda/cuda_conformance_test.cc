// SPDX-License-Identifier: Apache-2.0
// The CUDA backend in the conformance suite: over the fake driver, and on
// card number 0 where there is one.
#include <vector>

#include "absl/strings/str_cat.h"
#include "rekindle/base/units.h"
#include "tests/device/conformance.h"
#include "tests/device/cuda/fake_test.h"

namespace rekindle {
namespace {

DeviceCase Fake(size_t granularity, size_t capacity, uint64_t seed,
                bool reads_pageable_late = false) {
  return {absl::StrCat("Fake", granularity / kKiB, "KiB", capacity / kMiB,
                       "MiBSeed", seed, reads_pageable_late ? "Late" : ""),
          capacity, [=]() -> std::unique_ptr<Device> {
            cuda::FakeDriverOptions options;
            options.memory = capacity;
            options.granularity = granularity;
            options.seed = seed;
            options.reads_pageable_late = reads_pageable_late;
            return cuda::FakeCudaDevice::Open(options);
          }};
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, DeviceConformance,
    testing::Values(Fake(4 * kKiB, kMiB, 1), Fake(4 * kKiB, 64 * kGiB, 2),
                    Fake(64 * kKiB, kMiB, 1), Fake(64 * kKiB, kMiB, 2),
                    Fake(64 * kKiB, kMiB, 3, /*reads_pageable_late=*/true),
                    Fake(64 * kKiB, 64 * kGiB, 4), Fake(2 * kMiB, 16 * kMiB, 5),
                    Fake(2 * kMiB, 64 * kGiB, 6)),
    DeviceCaseName);

// None where no card can be opened; CudaCardTest says why.
std::vector<DeviceCase> Cards() {
  if (!OpenCudaDevice(0).ok()) return {};
  return {{"Card0", 0, [] { return OpenCudaDevice(0).value(); }}};
}

INSTANTIATE_TEST_SUITE_P(Card, DeviceConformance, testing::ValuesIn(Cards()),
                         DeviceCaseName);

TEST(CudaCardTest, ConformanceRunsOnTheCard) {
  const auto card = OpenCudaDevice(0);
  if (!card.ok()) GTEST_SKIP() << "not run: " << card.status();
  EXPECT_EQ((*card)->name(), "cuda:0");
  EXPECT_EQ(Cards().size(), 1u);
}

}  // namespace
}  // namespace rekindle
