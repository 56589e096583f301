// SPDX-License-Identifier: Apache-2.0
// Random work on several streams, in every order that the waits allow.
#include <cstdint>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/base/status_matchers.h"
#include "tests/device/cuda/fake_test.h"

namespace rekindle {
namespace {

using cuda::FakeCudaDevice;
using cuda::FakeDriverOptions;
using cuda::Result;

constexpr size_t kUnit = 64 * kKiB;
constexpr size_t kBuffers = 6;
constexpr size_t kStreams = 4;

// Fills, copies and kernels on random buffers and streams. Each buffer has an
// event after its last use, and whoever uses it next waits for that.
class RandomWork {
 public:
  RandomWork(FakeCudaDevice& device, uint64_t seed, bool waits)
      : device_(device), waits_(waits), random_(seed) {
    base_ = device_.Reserve(kBuffers * kUnit).value();
    for (size_t i = 0; i < kBuffers; ++i) {
      const ChunkId chunk = device_.Create(kUnit).value();
      EXPECT_THAT(device_.Map(At(i), {chunk}), IsOk());
      EXPECT_THAT(device_.Fill(At(i), 0, kUnit, Stream()), IsOk());
      events_.push_back(device_.CreateEvent().value());
    }
    for (size_t i = 0; i < kStreams; ++i) {
      streams_.push_back(device_.CreateStream().value());
    }
    EXPECT_THAT(device_.Synchronize(Stream()), IsOk());
  }

  void Step() {
    const Stream stream = streams_[Draw(kStreams)];
    const size_t to = Draw(kBuffers);
    const size_t from = (to + 1 + Draw(kBuffers - 1)) % kBuffers;
    Begin(stream, {to, from});
    switch (Draw(3)) {
      case 0:
        model_[to] = static_cast<uint8_t>(Draw(256));
        EXPECT_THAT(device_.Fill(At(to), model_[to], kUnit, stream), IsOk());
        break;
      case 1:
        model_[to] = model_[from];
        EXPECT_THAT(device_.Copy(At(to), At(from), kUnit, stream), IsOk());
        break;
      default:
        model_[to] = static_cast<uint8_t>(model_[to] + model_[from]);
        Add(to, from, stream);
    }
    End(stream, {to, from});
  }

  // Whether every buffer holds what the model says.
  bool Agrees() {
    bool agrees = true;
    for (const Stream stream : streams_) {
      EXPECT_THAT(device_.Synchronize(stream), IsOk());
    }
    for (size_t i = 0; i < kBuffers; ++i) {
      std::vector<uint8_t> got(kUnit);
      EXPECT_THAT(device_.CopyToHost(got.data(), At(i), kUnit, Stream()),
                  IsOk());
      agrees = agrees && got == std::vector<uint8_t>(kUnit, model_[i]);
    }
    return agrees;
  }

 private:
  size_t Draw(size_t bound) { return random_() % bound; }
  DeviceAddress At(size_t buffer) const { return base_ + buffer * kUnit; }

  void Begin(Stream stream, std::initializer_list<size_t> buffers) {
    if (!waits_) return;
    for (const size_t buffer : buffers) {
      EXPECT_THAT(device_.StreamWait(stream, events_[buffer]), IsOk());
    }
  }

  void End(Stream stream, std::initializer_list<size_t> buffers) {
    for (const size_t buffer : buffers) {
      EXPECT_THAT(device_.Record(events_[buffer], stream), IsOk());
    }
  }

  // A kernel: to += from, byte by byte.
  void Add(size_t to, size_t from, Stream stream) {
    auto* const sum = reinterpret_cast<uint8_t*>(At(to));  // NOLINT
    const auto* const term =
        reinterpret_cast<const uint8_t*>(At(from));  // NOLINT
    const Result result = device_.driver().Launch(
        cuda::ToDriver(stream), {{At(to), kUnit}, {At(from), kUnit}}, [=] {
          for (size_t i = 0; i < kUnit; ++i) {
            sum[i] = static_cast<uint8_t>(sum[i] + term[i]);
          }
        });
    EXPECT_EQ(result, Result::kSuccess);
  }

  FakeCudaDevice& device_;
  const bool waits_;
  std::mt19937_64 random_;
  DeviceAddress base_ = 0;
  std::vector<Event> events_;
  std::vector<Stream> streams_;
  std::vector<uint8_t> model_ = std::vector<uint8_t>(kBuffers, 0);
};

bool RunsRight(uint64_t seed, bool waits) {
  FakeDriverOptions options;
  options.granularity = kUnit;
  options.seed = seed;
  const auto device = FakeCudaDevice::Open(options);
  RandomWork work(*device, seed, waits);
  for (int step = 0; step < 100; ++step) work.Step();
  return work.Agrees();
}

TEST(StreamOrderTest, WorkThatWaitsGivesOneResultInEveryOrder) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    EXPECT_TRUE(RunsRight(seed, /*waits=*/true)) << "seed " << seed;
  }
}

// Else the test above would show nothing.
TEST(StreamOrderTest, MissingWaitsAreFound) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    wrong += !RunsRight(seed, /*waits=*/false);
  }
  EXPECT_GE(wrong, 25);
}

}  // namespace
}  // namespace rekindle
