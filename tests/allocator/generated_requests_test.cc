// SPDX-License-Identifier: Apache-2.0
// A million requests of kinds that fragment memory, on a device that has no
// more than the budget. A request is made only if it and all live blocks, each
// rounded up to whole chunks, fit the budget; then it must be met.
//
// With a tight_limit that covers all sizes this is what the contract promises.
// By default blocks of more than a chunk may touch one chunk more, and only if
// that is counted too is it sure: of these kinds, only where every other block
// of a dense row goes does it make a difference.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/base/units.h"
#include "rekindle/device/counting/counting_device.h"
#include "tests/base/status_matchers.h"

namespace rekindle {
namespace {

struct Geometry {
  std::string name;
  size_t chunk = 0;
  size_t capacity = 0;
  size_t tight_limit = 0;
};

std::string GeometryName(const testing::TestParamInfo<Geometry>& info) {
  return info.param.name;
}

class GeneratedRequestsTest : public testing::TestWithParam<Geometry> {
 protected:
  ~GeneratedRequestsTest() override {
    EXPECT_LE(device_->memory_info().peak_created, capacity());
    allocator_->CheckInvariants();
  }

  size_t capacity() const { return GetParam().capacity; }
  size_t chunk() const { return GetParam().chunk; }
  size_t Draw(size_t bound) { return random_() % bound; }
  size_t live() const { return live_.size(); }

  // From now on count what the contract says a block may take.
  void CountWorstCases() { count_worst_cases_ = true; }

  size_t Rounded(size_t bytes) const {
    return count_worst_cases_ ? allocator_->WorstCaseBytes(bytes)
                              : RoundUp(bytes, chunk());
  }
  bool Fits(size_t bytes) const {
    return rounded_ + Rounded(bytes) <= capacity();
  }

  // Allocates if it fits. False: it does not fit, or did not come.
  bool Allocate(size_t bytes) {
    if (!Fits(bytes)) return false;
    const std::optional<Block> block = allocator_->Allocate(bytes).value();
    Count();
    EXPECT_TRUE(block.has_value())
        << bytes << " bytes beside " << live_.size() << " blocks of "
        << requested_ << " bytes, " << rounded_ << " rounded, on "
        << allocator_->stats().live_physical_bytes << " of " << capacity();
    if (!block.has_value()) return false;
    live_.push_back(*block);
    rounded_ += Rounded(bytes);
    requested_ += bytes;
    return true;
  }

  void Free(size_t index) {
    std::swap(live_[index], live_.back());
    rounded_ -= Rounded(live_.back().bytes);
    requested_ -= live_.back().bytes;
    allocator_->Free(live_.back());
    live_.pop_back();
    Count();
  }

  // Frees those for which the draw of one in `one_in` says so.
  void FreeSome(size_t one_in) {
    for (size_t i = live_.size(); i-- > 0;) {
      if (Draw(one_in) == 0) Free(i);
    }
  }

  void FreeAll() {
    while (!live_.empty()) Free(Draw(live_.size()));
  }

  bool Done(int64_t operations) const {
    return operations_ >= operations || HasFailure();
  }

 private:
  void Count() {
    if (++operations_ % 5000 == 0) allocator_->CheckInvariants();
  }

  std::mt19937_64 random_{1};
  const std::unique_ptr<CountingDevice> device_ =
      CountingDevice::Open(
          {.capacity = GetParam().capacity, .granularity = GetParam().chunk})
          .value();
  const std::unique_ptr<VmmAllocator> allocator_ =
      VmmAllocator::Create(*device_, {.budget = GetParam().capacity,
                                      .tight_limit = GetParam().tight_limit})
          .value();
  bool count_worst_cases_ = false;
  std::vector<Block> live_;
  size_t rounded_ = 0;
  size_t requested_ = 0;
  int64_t operations_ = 0;
};

TEST_P(GeneratedRequestsTest, RandomSizesUpToAnEighthOfTheCapacity) {
  while (!Done(75'000)) {
    // Half of them even, half in equal shares of their logarithm.
    size_t most = capacity() / 8;
    if (Draw(2) == 0) most = std::max<size_t>(1, most >> Draw(24));
    if (!Allocate(1 + Draw(most)) && live() > 0) Free(Draw(live()));
    if (live() > 0 && Draw(8) == 0) Free(Draw(live()));
  }
}

TEST_P(GeneratedRequestsTest, Sawtooth) {
  for (size_t tooth = 0; !Done(75'000); ++tooth) {
    const size_t most = (capacity() / 8) >> (tooth % 10);
    while (Allocate(1 + Draw(std::max<size_t>(most, 1))) && !Done(75'000)) {
    }
    if (tooth % 3 == 0) {
      FreeAll();
    } else {
      FreeSome(1 + tooth % 3);
    }
  }
}

TEST_P(GeneratedRequestsTest, AllTheSameThenAllTwiceAsLarge) {
  while (!Done(35'000)) {
    size_t bytes = 512 + Draw(chunk());
    for (; bytes <= capacity() / 8 && !Done(35'000); bytes *= 2) {
      while (Allocate(bytes) && !Done(35'000)) {
      }
      FreeAll();
    }
  }
}

TEST_P(GeneratedRequestsTest, TwiceAsLargeWhereHalfIsGone) {
  if (GetParam().tight_limit == 0) CountWorstCases();
  while (!Done(35'000)) {
    size_t bytes = 512 + Draw(chunk());
    for (; bytes <= capacity() / 8 && !Done(35'000); bytes *= 2) {
      while (Allocate(bytes) && !Done(35'000)) {
      }
      FreeSome(2);
    }
    FreeAll();
  }
}

// Every other block of a row goes, in order or at random, and what comes then
// does not fit the gaps.
TEST_P(GeneratedRequestsTest, CombsWithTeethThatDoNotFitTheGaps) {
  for (size_t round = 0; !Done(35'000); ++round) {
    const size_t tooth = 1 + Draw(4 * chunk());
    while (Allocate(tooth) && !Done(35'000)) {
    }
    for (size_t i = 0; i + 1 < live(); i += 1 + round % 2) Free(i);
    while (Allocate(tooth + 1 + Draw(chunk())) && !Done(35'000)) {
    }
    while (Allocate(1 + Draw(tooth)) && !Done(35'000)) {
    }
    if (round % 4 == 3) FreeAll();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Geometries, GeneratedRequestsTest,
    testing::Values(Geometry{"Chunks64KiB", 64 * kKiB, 256 * kMiB},
                    Geometry{"Chunks2MiB", 2 * kMiB, 4 * kGiB},
                    Geometry{"Tight64KiB", 64 * kKiB, 256 * kMiB, kGiB},
                    Geometry{"Tight2MiB", 2 * kMiB, 4 * kGiB, kGiB}),
    GeometryName);

}  // namespace
}  // namespace rekindle
