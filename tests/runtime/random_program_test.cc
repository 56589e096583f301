// SPDX-License-Identifier: Apache-2.0
// Random programs on the public API, beside a model that keeps all values in
// host memory: calls, views, updates in place, random numbers, effects, calls
// that are not pure, snapshots, guards, releases, steps, under random budgets.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/base/philox.h"
#include "rekindle/device/host/host_device.h"
#include "rekindle/rekindle.h"

namespace rekindle {
namespace {

using Words = std::vector<uint32_t>;

constexpr size_t kChunk = 4096;

uint32_t Mix(uint32_t state, uint32_t word) {
  state = (state ^ word) * 0x9E3779B1u;
  return state ^ (state >> 15);
}

uint32_t Hash(uint32_t state, const uint32_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) state = Mix(state, words[i]);
  return state;
}

void Expand(uint32_t seed, uint32_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) words[i] = seed = Mix(seed, 1);
}

// A tensor of words and what it should hold: a stretch of a buffer that all
// views of one variable share.
struct Value {
  Tensor tensor;
  std::shared_ptr<Words> buffer;
  size_t offset = 0;
  size_t words = 0;

  uint32_t* data() const { return buffer->data() + offset; }
};

// What a random call does: a hash of the inputs it reads, and of a random
// number if it draws one, decides all outputs and changes.
struct Behaviour {
  uint32_t salt = 0;
  bool draws = false;
  std::vector<size_t> input_words;
  std::vector<size_t> output_words;
  std::vector<bool> read;
  std::vector<bool> changed;

  template <typename Input>
  uint32_t Seed(Input input, PhiloxDraw draw) const {
    uint32_t seed = salt;
    if (draws) seed = Mix(seed, PhiloxBlock(draw, 0)[0]);
    for (size_t i = 0; i < input_words.size(); ++i) {
      if (read[i]) seed = Hash(seed, input(i), input_words[i]);
    }
    return seed;
  }
  template <typename Input, typename Output>
  void Apply(Input input, Output output, PhiloxDraw draw) const {
    const uint32_t seed = Seed(input, draw);
    for (size_t i = 0; i < output_words.size(); ++i) {
      Expand(seed + static_cast<uint32_t>(i), output(i), output_words[i]);
    }
    for (size_t i = 0; i < input_words.size(); ++i) {
      for (size_t j = 0; changed[i] && j < input_words[i]; ++j) {
        input(i)[j] = Mix(input(i)[j], seed);
      }
    }
  }
};

Spec SpecOf(size_t words) { return I32({static_cast<int64_t>(words)}); }

class RandomProgram {
 public:
  RandomProgram(uint32_t seed, size_t budget)
      : random_(seed), generator_(seed), budget_(budget) {
    HostDeviceOptions device_options;
    device_options.capacity = size_t{32} << 20;
    device_options.granularity = kChunk;
    device_options.poison = true;
    RuntimeOptions options;
    options.custom_device = HostDevice::Open(device_options).value();
    options.budget = Budget::Bytes(budget);
    options.snapshot_directory = "";
    options.policy = seed % 3 == 0 ? "dtr_eq" : "dtr_eq:release=lazy";
    options.log_level = 0;
    rt_ = Runtime::Create(options).value();
  }

  void Run(int operations) {
    for (int i = 0; i < operations && !::testing::Test::HasFailure(); ++i) {
      Step();
      rt_->CheckInvariants();
      const RuntimeStats stats = rt_->Stats();
      EXPECT_LE(stats.device.created,
                std::max(budget_, stats.allocator.live_physical_bytes));
    }
    guard_ = {};
    ReadAll();
    values_.clear();
    EXPECT_EQ(rt_->Stats().engine.storages, 0);
    EXPECT_EQ(rt_->Stats().allocator.live_blocks, 0);
  }

  EngineStats stats() const { return rt_->Stats().engine; }

 private:
  uint32_t Below(size_t n) {
    return static_cast<uint32_t>(random_() % static_cast<uint32_t>(n));
  }
  Value& Any() { return values_[Below(values_.size())]; }
  size_t RandomWords() {
    constexpr size_t kSizes[] = {1, 16, 100, 1000, 1024, 1500, 3000};
    return kSizes[Below(7)];
  }

  void Step() {
    if (values_.empty() || Below(10) == 0) return AddConstant();
    switch (Below(16)) {
      case 0:
      case 1:
      case 2:
        return Call(false, false, true);
      case 3:
        return Call(false, true, true);
      case 4:
      case 5:
        return Call(true, false, true);
      case 6:
        return Call(false, false, false);
      case 7:
        return View();
      case 8:
        return Read(Any());
      case 9:
        Any().tensor.Evict();
        return;
      case 10:
        return Snapshot();
      case 11:
        return Guard();
      case 12:
        return Below(4) == 0 ? BeginStep() : Release();
      case 13:
        return SetBudget(kChunk * (4 + Below(40)));
      default:
        return Release();
    }
  }

  void AddConstant() {
    Value value;
    value.words = RandomWords();
    value.buffer = std::make_shared<Words>(value.words);
    Expand(random_(), value.data(), value.words);
    value.tensor = rt_->Constant(SpecOf(value.words), value.data());
    // Without room for it there is no such value.
    if (value.tensor.status().ok()) values_.push_back(value);
  }

  void Call(bool mutate, bool effect, bool pure) {
    Behaviour behaviour;
    behaviour.salt = random_();
    behaviour.draws = Below(3) == 0;
    CallOptions options;
    options.name = "random";
    options.pure = pure;
    options.flops = 1e6 * Below(5);
    if (behaviour.draws) options.random = &generator_;
    if (Below(3) == 0) options.workspace_bytes = 1 + Below(6000);
    std::vector<Value> inputs;
    std::vector<Tensor> tensors;
    const size_t count = 1 + Below(3);
    for (size_t i = 0; i < count; ++i) {
      const Value& value = Any();
      const bool shared = std::any_of(
          inputs.begin(), inputs.end(),
          [&value](const Value& v) { return v.buffer == value.buffer; });
      // An effect must not also be read; it comes last.
      const bool is_effect = effect && !shared && i > 0;
      if (is_effect) options.effects.push_back(static_cast<int>(i));
      const bool is_mutated = mutate && i == 0;
      if (is_mutated) options.mutates.push_back(0);
      behaviour.read.push_back(!is_effect);
      behaviour.changed.push_back(is_effect || is_mutated);
      behaviour.input_words.push_back(value.words);
      inputs.push_back(value);
      tensors.push_back(value.tensor);
      if (is_effect) break;
    }
    std::vector<Spec> specs;
    const size_t outputs = 1 + Below(3);
    for (size_t i = 0; i < outputs; ++i) {
      behaviour.output_words.push_back(RandomWords());
      specs.push_back(SpecOf(behaviour.output_words.back()));
    }
    RunCall(options, behaviour, inputs, tensors, specs);
  }

  void RunCall(const CallOptions& options, const Behaviour& behaviour,
               const std::vector<Value>& inputs,
               const std::vector<Tensor>& tensors,
               const std::vector<Spec>& specs) {
    const auto kernel = [behaviour](KernelArgs& a) {
      behaviour.Apply(
          [&a](size_t i) { return a.inout<uint32_t>(static_cast<int>(i)); },
          [&a](size_t i) { return a.output<uint32_t>(static_cast<int>(i)); },
          a.random());
      return absl::OkStatus();
    };
    const PhiloxDraw state = generator_.state();
    const std::vector<Tensor> outputs =
        rt_->Call(options, tensors, specs, kernel);
    // If it did not fit, it must not have changed anything.
    if (absl::IsResourceExhausted(outputs[0].status())) return;
    ASSERT_TRUE(outputs[0].status().ok()) << outputs[0].status();
    std::vector<Value> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const size_t words = behaviour.output_words[i];
      results.push_back({outputs[i], std::make_shared<Words>(words), 0, words});
    }
    behaviour.Apply([&inputs](size_t i) { return inputs[i].data(); },
                    [&results](size_t i) { return results[i].data(); }, state);
    values_.insert(values_.end(), results.begin(), results.end());
  }

  void View() {
    const Value base = Any();
    const size_t begin = Below(base.words);
    const size_t end = begin + 1 + Below(base.words - begin);
    Value view = base;
    view.tensor = base.tensor.Slice(static_cast<int64_t>(begin),
                                    static_cast<int64_t>(end));
    view.offset += begin;
    view.words = end - begin;
    values_.push_back(view);
  }

  void Snapshot() {
    Value value = Any();
    value.tensor = value.tensor.Snapshot();
    value.buffer = std::make_shared<Words>(*value.buffer);
    values_.push_back(value);
  }

  void Guard() {
    if (guard_.address() != 0) {
      guard_ = {};
      return;
    }
    const Value& value = Any();
    absl::StatusOr<ReadGuard> guard = value.tensor.Read();
    if (!guard.ok()) return;
    guard_ = *std::move(guard);
    EXPECT_TRUE(std::equal(value.data(), value.data() + value.words,
                           guard_.data<uint32_t>()));
  }

  void Release() {
    std::swap(Any(), values_.back());
    values_.pop_back();
  }

  void BeginStep() {
    const absl::Status status = rt_->BeginStep();
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
  }

  void SetBudget(size_t bytes) {
    budget_ = bytes;
    EXPECT_TRUE(rt_->SetBudget(bytes).ok());
  }

  void Read(const Value& value) {
    const auto words = value.tensor.ToHost<uint32_t>();
    if (!words.ok()) {
      EXPECT_TRUE(absl::IsResourceExhausted(words.status()));
      return;
    }
    EXPECT_TRUE(std::equal(words->begin(), words->end(), value.data()));
  }

  void ReadAll() {
    SetBudget(size_t{32} << 20);
    for (const Value& value : values_) {
      const auto words = value.tensor.ToHost<uint32_t>();
      ASSERT_TRUE(words.ok()) << words.status();
      EXPECT_TRUE(std::equal(words->begin(), words->end(), value.data()));
    }
  }

  std::mt19937 random_;
  Generator generator_;
  size_t budget_;
  std::unique_ptr<Runtime> rt_;
  std::vector<Value> values_;
  ReadGuard guard_;
};

TEST(RandomRuntimeProgramTest, HasTheBitsOfTheModelUnderAnyBudget) {
  int recomputed = 0;
  int deep = 0;
  int rescued = 0;
  for (uint32_t seed = 1;
       seed <= REKINDLE_RANDOM_PROGRAMS && !::testing::Test::HasFailure();
       ++seed) {
    RandomProgram program(seed, kChunk * (5 + seed % 30));
    program.Run(50);
    recomputed += program.stats().recomputations > 0 ? 1 : 0;
    deep += program.stats().max_depth >= 3 ? 1 : 0;
    rescued += program.stats().rescues > 0 ? 1 : 0;
    if (::testing::Test::HasFailure()) std::printf("seed %u\n", seed);
  }
  std::printf(
      "%d programs: %d recomputed, %d at depth 3 or more, %d updated something "
      "with evicted readers\n",
      REKINDLE_RANDOM_PROGRAMS, recomputed, deep, rescued);
  EXPECT_GE(recomputed * 2, REKINDLE_RANDOM_PROGRAMS);
  EXPECT_GE(deep * 10, REKINDLE_RANDOM_PROGRAMS);
  EXPECT_GE(rescued * 5, REKINDLE_RANDOM_PROGRAMS);
}

}  // namespace
}  // namespace rekindle
