// SPDX-License-Identifier: Apache-2.0
// Calls, reads, writes and recomputations on several streams of a device whose
// work runs late and in any order that streams and events allow.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/engine/engine.h"
#include "rekindle/evictor/policies.h"
#include "tests/base/status_matchers.h"
#include "tests/device/cuda/fake_test.h"
#include "tests/engine/engine_fixture.h"

namespace rekindle {
namespace {

using cuda::FakeCudaDevice;
using cuda::FakeRange;

constexpr size_t kUnit = 4096;
constexpr size_t kValueWords = kUnit / sizeof(uint32_t);

uint32_t* WordsAt(DeviceAddress address) {
  return reinterpret_cast<uint32_t*>(address);  // NOLINT
}

// A device that forgets to let streams wait.
class NoWaits : public FaultInjectingDevice {
 public:
  using FaultInjectingDevice::FaultInjectingDevice;
  absl::Status StreamWait(Stream, Event) override { return absl::OkStatus(); }
};

// An engine on three streams, and what every value should be. All values have
// one size.
class StreamsProgram {
 public:
  // `seen` is the device as the engine sees it.
  StreamsProgram(FakeCudaDevice& device, Device& seen, uint32_t seed)
      : device_(device), random_(seed) {
    VmmAllocatorOptions options;
    options.budget = kUnit * (8 + seed % 8);
    // Some programs have values that share pages and move.
    options.small_block_limit = seed % 2 == 0 ? kUnit : 0;
    options.slab_page_bytes = seed % 2 == 0 ? 4 * kUnit : 0;
    if (seed % 2 == 0) options.budget *= 3;
    allocator_ = VmmAllocator::Create(seen, options).value();
    engine_ = std::make_unique<Engine>(
        seen, *allocator_, MakePolicy("dtr_eq:release=lazy").value());
    streams_ = {Stream()};
    for (int i = 0; i < 2; ++i) {
      streams_.push_back(device.CreateStream().value());
    }
  }

  // True if every value was right whenever it was looked at.
  bool Run(int steps) {
    for (int i = 0; i < steps && Step(); ++i) {
      engine_->CheckInvariants();
    }
    for (size_t i = 0; i < values_.size(); ++i) Check(i);
    device_.driver().RunSome(static_cast<size_t>(device_.driver().pending()));
    const bool right =
        failed_.ok() && wrong_ == 0 && device_.driver().violations().empty();
    if (!right) device_.driver().Repair();
    recomputations_ = engine_->stats().recomputations;
    engine_.reset();
    allocator_.reset();
    for (size_t i = 1; i < streams_.size(); ++i) {
      device_.DestroyStream(streams_[i]).IgnoreError();
    }
    return right && device_.driver().violations().empty();
  }

  int64_t recomputations() const { return recomputations_; }

 private:
  struct Value {
    StorageId id;
    Words words;
  };

  size_t Draw(size_t n) { return random_() % n; }
  Stream AnyStream() { return streams_[Draw(streams_.size())]; }

  bool Step() {
    const size_t choice = values_.size() < 3 ? 0 : Draw(10);
    if (choice == 0) {
      Constant();
    } else if (choice < 5) {
      Call(false);
    } else if (choice == 5) {
      Call(true);
    } else if (choice == 6) {
      Write();
    } else if (choice == 7) {
      engine_->Evict(values_[Draw(values_.size())].id);
    } else if (choice == 8) {
      Check(Draw(values_.size()));
    } else {
      Drop(Draw(values_.size()));
    }
    while (values_.size() > 12) Drop(Draw(values_.size()));
    device_.driver().RunSome(Draw(3));
    return failed_.ok();
  }

  void Launch(Stream stream, std::vector<DeviceAddress> addresses,
              std::function<void()> run) {
    std::vector<FakeRange> ranges;
    for (DeviceAddress address : addresses) ranges.push_back({address, kUnit});
    const cuda::Result result = device_.driver().Launch(
        cuda::ToDriver(stream), std::move(ranges), std::move(run));
    if (result != cuda::Result::kSuccess) {
      failed_.Update(absl::InternalError("launch"));
    }
  }

  void Constant() {
    Words words = MixAll({}, static_cast<uint32_t>(random_()), kValueWords);
    const auto id = engine_->AddConstant(kUnit, Kind::kInput, {"constant"});
    if (!id.ok()) return Note(id.status());
    const Stream stream = AnyStream();
    const auto to = engine_->PinForWrite(*id, {"fill"}, stream);
    if (!to.ok()) return Note(to.status());
    Launch(stream, {to->address}, [to = to->address, words] {
      std::copy(words.begin(), words.end(), WordsAt(to));
    });
    engine_->Unpin(to->storage, stream);
    values_.push_back({to->storage, std::move(words)});
  }

  // Mixes two values into a third, or into the first of them.
  void Call(bool in_place) {
    const size_t a = Draw(values_.size());
    const size_t b = Draw(values_.size());
    if (a == b) return;
    const auto salt = static_cast<uint32_t>(random_());
    CallSpec spec;
    spec.label = {"mix"};
    spec.inputs = {values_[a].id, values_[b].id};
    spec.stream = AnyStream();
    spec.cost = 1;
    if (in_place) {
      spec.mutates = {0};
    } else {
      spec.output_bytes = {kUnit};
    }
    spec.execute = [this, salt, in_place](const KernelBinding& binding) {
      const DeviceAddress x = binding.inputs[0];
      const DeviceAddress y = binding.inputs[1];
      const DeviceAddress to = in_place ? x : binding.outputs[0];
      Launch(binding.stream, {x, y, to}, [=] {
        const Words words = Mixed({WordsAt(x), WordsAt(x) + kValueWords},
                                  {WordsAt(y), WordsAt(y) + kValueWords}, salt);
        std::copy(words.begin(), words.end(), WordsAt(to));
      });
      return absl::OkStatus();
    };
    const auto result = engine_->Run(std::move(spec));
    if (!result.ok()) return Note(result.status());
    Words words = Mixed(values_[a].words, values_[b].words, salt);
    if (in_place) {
      values_[a] = {result->updated[0], std::move(words)};
    } else {
      values_.push_back({result->outputs[0], std::move(words)});
    }
  }
  static Words Mixed(Words x, const Words& y, uint32_t salt) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = Mix(Mix(salt, x[i]), y[i]);
    return x;
  }

  // A constant is written over, on some stream.
  void Write() {
    const size_t i = Draw(values_.size());
    if (!engine_->IsConstant(values_[i].id)) return;
    const Stream stream = AnyStream();
    const auto to = engine_->PinForWrite(values_[i].id, {"write"}, stream);
    if (!to.ok()) return Note(to.status());
    Words words = MixAll({}, static_cast<uint32_t>(random_()), kValueWords);
    Launch(stream, {to->address}, [to = to->address, words] {
      std::copy(words.begin(), words.end(), WordsAt(to));
    });
    engine_->Unpin(to->storage, stream);
    values_[i] = {to->storage, std::move(words)};
  }

  // Compares a value, on some stream, when the device comes to it.
  void Check(size_t i) {
    const Stream stream = AnyStream();
    const auto address = engine_->Pin(values_[i].id, {"check"}, stream);
    if (!address.ok()) return Note(address.status());
    Launch(stream, {*address},
           [this, from = *address, words = values_[i].words] {
             if (!std::equal(words.begin(), words.end(), WordsAt(from)))
               ++wrong_;
           });
    engine_->Unpin(values_[i].id, stream);
  }

  void Drop(size_t i) {
    engine_->DropReference(values_[i].id);
    std::swap(values_[i], values_.back());
    values_.pop_back();
  }

  // That the budget is short is no failure; something has to go.
  void Note(const absl::Status& status) {
    if (!absl::IsResourceExhausted(status)) return failed_.Update(status);
    if (!values_.empty()) Drop(Draw(values_.size()));
  }

  FakeCudaDevice& device_;
  std::mt19937 random_;
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<Engine> engine_;
  std::vector<Stream> streams_;
  std::vector<Value> values_;
  absl::Status failed_;
  int wrong_ = 0;
  int64_t recomputations_ = 0;
};

std::unique_ptr<FakeCudaDevice> OpenFake(uint64_t seed) {
  cuda::FakeDriverOptions options;
  options.granularity = kUnit;
  options.seed = seed;
  return FakeCudaDevice::Open(options);
}

TEST(EngineStreamsTest, EveryOrderOfWorkGivesTheRightValues) {
  int recomputed = 0;
  for (uint32_t seed = 1; seed <= 300 && !::testing::Test::HasFailure();
       ++seed) {
    const auto device = OpenFake(seed);
    StreamsProgram program(*device, *device, seed);
    EXPECT_TRUE(program.Run(120)) << "seed " << seed;
    recomputed += program.recomputations() > 0 ? 1 : 0;
  }
  EXPECT_GE(recomputed, 200);
}

// Else the test above would show nothing.
TEST(EngineStreamsTest, WaitsLeftOutAreFound) {
  int right = 0;
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    const auto device = OpenFake(seed);
    NoWaits no_waits(*device);
    StreamsProgram program(*device, no_waits, seed);
    right += program.Run(120) ? 1 : 0;
    for (const cuda::Violation& violation : device->driver().violations()) {
      device->driver().TakeViolation(violation.rule);
    }
  }
  EXPECT_LE(right, 3);
}

}  // namespace
}  // namespace rekindle
