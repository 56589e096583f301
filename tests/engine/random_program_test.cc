// SPDX-License-Identifier: Apache-2.0
// Random programs against a model that keeps every value in host memory.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"

namespace rekindle {
namespace {

// What one random call does, for the kernel and for the model alike: outputs
// are MixAll of all inputs; changed inputs are mixed with a hash of all inputs.
struct Behaviour {
  std::vector<size_t> input_words;
  std::vector<size_t> output_words;
  std::vector<int> changed;  // mutates and effects
  std::vector<int> hashed;   // inputs on which the results depend
  uint32_t salt = 0;

  uint32_t Hash(const std::vector<Words>& inputs) const {
    std::vector<Words> read;
    for (int i : hashed) read.push_back(inputs[static_cast<size_t>(i)]);
    return MixAll(read, salt, 1)[0];
  }
  void Apply(std::vector<Words>& inputs, std::vector<Words>& outputs) const {
    const uint32_t hash = Hash(inputs);
    for (size_t i = 0; i < output_words.size(); ++i) {
      outputs.push_back(
          MixAll({}, hash + static_cast<uint32_t>(i), output_words[i]));
    }
    for (int i : changed) {
      for (uint32_t& word : inputs[static_cast<size_t>(i)]) {
        word = Mix(word, hash);
      }
    }
  }
};

Executor Kernel(const Behaviour& behaviour) {
  return [behaviour](const KernelBinding& binding) {
    std::vector<Words> inputs;
    for (size_t i = 0; i < behaviour.input_words.size(); ++i) {
      const auto* data = reinterpret_cast<const uint32_t*>(binding.inputs[i]);
      inputs.emplace_back(data, data + behaviour.input_words[i]);
    }
    std::vector<Words> outputs;
    behaviour.Apply(inputs, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::copy(outputs[i].begin(), outputs[i].end(),
                reinterpret_cast<uint32_t*>(binding.outputs[i]));
    }
    for (int i : behaviour.changed) {
      const Words& value = inputs[static_cast<size_t>(i)];
      std::copy(
          value.begin(), value.end(),
          reinterpret_cast<uint32_t*>(binding.inputs[static_cast<size_t>(i)]));
    }
    return absl::OkStatus();
  };
}

// How many programs did what.
struct Totals {
  int programs = 0;
  int recomputed = 0;
  int deep = 0;           // chains of three calls and more
  int rescued = 0;        // updated something with evicted readers
  int moved = 0;          // small storages
  int64_t exhausted = 0;  // calls that did not fit at first

  void Add(const EngineStats& stats, int did_not_fit) {
    ++programs;
    recomputed += stats.recomputations > 0 ? 1 : 0;
    deep += stats.max_depth >= 3 ? 1 : 0;
    rescued += stats.rescues > 0 ? 1 : 0;
    moved += stats.moves > 0 ? 1 : 0;
    exhausted += did_not_fit;
  }
  void Print() const {
    std::printf(
        "%d programs: %d recomputed, %d at depth 3 or more, %d updated "
        "something with evicted readers, %d moved small values; %lld calls did "
        "not fit at first\n",
        programs, recomputed, deep, rescued, moved,
        static_cast<long long>(exhausted));
  }
};

class RandomProgram {
 public:
  RandomProgram(Device& device, Allocator& allocator, Engine& engine,
                uint32_t seed, size_t budget)
      : device_(device),
        allocator_(allocator),
        engine_(engine),
        random_(seed),
        budget_(budget) {}

  void Run(int operations) {
    for (int i = 0; i < operations && !::testing::Test::HasFailure(); ++i) {
      Step();
      engine_.CheckInvariants();
      ExpectWithinBudget();
    }
    Finish();
  }
  int exhausted() const { return exhausted_; }

 private:
  struct Handle {
    StorageId id;
    Words value;
  };

  uint32_t Below(size_t n) {
    return static_cast<uint32_t>(random_() % static_cast<uint32_t>(n));
  }
  size_t RandomHandle() { return Below(handles_.size()); }
  size_t RandomWords() {
    constexpr size_t kSizes[] = {0,   1,   17,  40,   60,   60,
                                 128, 250, 250, 1000, 1024, 4000};
    return kSizes[Below(12)];
  }

  void Step() {
    if (handles_.empty() || Below(12) == 0) return AddConstant();
    switch (Below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return Call(0, false, true);
      case 5:
      case 6:
        return Call(1, false, true);
      case 7:
        return Call(1 + Below(2), false, Below(3) > 0);
      case 8:
        return Call(0, true, true);
      case 9:
      case 10:
        return Release(RandomHandle());
      case 11:
        return Read(RandomHandle());
      case 12:
        engine_.Evict(handles_[RandomHandle()].id);
        return;
      case 13:
        return Snapshot(RandomHandle());
      case 14:
        return Below(2) == 0 ? PinOrUnpin() : ChangeBudget();
      default:
        return Below(3) == 0 ? Detach() : Release(RandomHandle());
    }
  }

  void AddConstant() {
    Words value = MixAll({}, random_(), RandomWords());
    const auto id =
        engine_.AddConstant(value.size() * 4, Kind::kInput, {"constant"});
    if (!id.ok()) return ExpectExhausted(id.status());
    const auto address = engine_.Pin(*id, {"fill"});
    ASSERT_TRUE(address.ok());
    std::copy(value.begin(), value.end(),
              reinterpret_cast<uint32_t*>(*address));
    engine_.Unpin(*id);
    handles_.push_back({*id, std::move(value)});
  }

  // A call with `mutated` updates in place, perhaps an effect.
  void Call(size_t mutated, bool effect, bool pure) {
    Behaviour behaviour;
    behaviour.salt = random_();
    std::vector<size_t> chosen;
    const size_t count = std::max<size_t>(1 + Below(4), mutated);
    for (size_t i = 0; i < count; ++i) chosen.push_back(RandomHandle());
    CallSpec spec;
    for (size_t i = 0; i < count; ++i) {
      const size_t handle = chosen[i];
      const StorageId id = handles_[handle].id;
      const bool again =
          std::count(spec.inputs.begin(), spec.inputs.end(), id) > 0;
      const int index = static_cast<int>(i);
      bool is_effect = false;
      if (!again && spec.mutates.size() < mutated) {
        spec.mutates.push_back(index);
      } else if (!again && effect && i + 1 == count) {
        is_effect = true;
        spec.effects.push_back(index);
      }
      if (!is_effect) behaviour.hashed.push_back(index);
      spec.inputs.push_back(id);
      behaviour.input_words.push_back(handles_[handle].value.size());
    }
    behaviour.changed.assign(spec.mutates.begin(), spec.mutates.end());
    behaviour.changed.insert(behaviour.changed.end(), spec.effects.begin(),
                             spec.effects.end());
    const size_t outputs = Below(4) + (mutated == 0 ? 1 : 0);
    for (size_t i = 0; i < outputs; ++i) {
      behaviour.output_words.push_back(RandomWords());
      spec.output_bytes.push_back(behaviour.output_words.back() * 4);
    }
    spec.label = {"random"};
    spec.workspace_bytes = Below(3) == 0 ? 1 + Below(10000) : 0;
    spec.cost = 1 + Below(5);
    spec.pure = pure;
    RunCall(std::move(spec), behaviour, chosen);
  }

  static CallSpec Copy(const CallSpec& spec, const Behaviour& behaviour) {
    CallSpec copy;
    copy.label = spec.label;
    copy.inputs = spec.inputs;
    copy.output_bytes = spec.output_bytes;
    copy.mutates = spec.mutates;
    copy.effects = spec.effects;
    copy.workspace_bytes = spec.workspace_bytes;
    copy.cost = spec.cost;
    copy.pure = spec.pure;
    copy.execute = Kernel(behaviour);
    return copy;
  }

  void RunCall(CallSpec spec, const Behaviour& behaviour,
               const std::vector<size_t>& chosen) {
    absl::StatusOr<CallResult> result = engine_.Run(Copy(spec, behaviour));
    if (!result.ok()) {
      ExpectExhausted(result.status());
      engine_.CheckInvariants();
      ExpectWithinBudget();
      // The budget that the error names must do.
      const Shortfall shortfall = engine_.last_shortfall().value();
      ASSERT_GT(shortfall.needed_budget, budget_);
      SetBudget(shortfall.needed_budget);
      result = engine_.Run(Copy(spec, behaviour));
      ASSERT_TRUE(result.ok()) << result.status();
    }
    std::vector<Words> inputs;
    for (size_t handle : chosen) inputs.push_back(handles_[handle].value);
    std::vector<Words> outputs;
    behaviour.Apply(inputs, outputs);
    for (size_t i = 0; i < behaviour.changed.size(); ++i) {
      const auto input = static_cast<size_t>(behaviour.changed[i]);
      handles_[chosen[input]] = {result->updated[i], inputs[input]};
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      handles_.push_back({result->outputs[i], outputs[i]});
    }
  }

  void Release(size_t handle) {
    engine_.DropReference(handles_[handle].id);
    handles_[handle] = handles_.back();
    handles_.pop_back();
  }

  void Read(size_t handle) {
    const Words& value = handles_[handle].value;
    const auto address = engine_.Pin(handles_[handle].id, {"read"});
    if (!address.ok()) {
      ExpectExhausted(address.status());
      SetBudget(engine_.last_shortfall()->needed_budget);
      return Read(handle);
    }
    const auto* data = reinterpret_cast<const uint32_t*>(*address);
    EXPECT_TRUE(std::equal(value.begin(), value.end(), data));
    engine_.Unpin(handles_[handle].id);
  }

  void Snapshot(size_t handle) {
    engine_.AddReference(handles_[handle].id);
    handles_.push_back(handles_[handle]);
  }

  void PinOrUnpin() {
    if (pinned_.size() >= 2) {
      engine_.Unpin(pinned_.back());
      engine_.DropReference(pinned_.back());
      pinned_.pop_back();
      return;
    }
    const StorageId id = handles_[RandomHandle()].id;
    if (!engine_.Pin(id, {"guard"}).ok()) return;
    engine_.AddReference(id);
    pinned_.push_back(id);
  }

  void Detach() {
    const absl::Status status =
        Below(3) == 0 ? engine_.DetachAll()
                      : engine_.Detach(handles_[RandomHandle()].id);
    if (!status.ok()) ExpectExhausted(status);
  }

  void ChangeBudget() { SetBudget(4096 * (4 + Below(60))); }

  void SetBudget(size_t bytes) {
    budget_ = bytes;
    ASSERT_TRUE(engine_.SetBudget(bytes).ok());
  }

  void ExpectExhausted(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    ++exhausted_;
  }

  void ExpectWithinBudget() {
    // A budget below what cannot be given up holds as soon as it can.
    const size_t held = allocator_.stats().live_physical_bytes;
    EXPECT_LE(device_.memory_info().created, std::max(budget_, held));
  }

  void Finish() {
    for (size_t i = 0; i < handles_.size(); ++i) Read(i);
    while (!pinned_.empty()) {
      engine_.Unpin(pinned_.back());
      engine_.DropReference(pinned_.back());
      pinned_.pop_back();
    }
    while (!handles_.empty()) Release(0);
    engine_.CheckInvariants();
    EXPECT_EQ(engine_.stats().storages, 0);
    EXPECT_EQ(engine_.stats().lineage_calls, 0);
    EXPECT_EQ(allocator_.stats().live_blocks, 0);
  }

  Device& device_;
  Allocator& allocator_;
  Engine& engine_;
  std::mt19937 random_;
  size_t budget_;
  std::vector<Handle> handles_;
  std::vector<StorageId> pinned_;
  int exhausted_ = 0;
};

class RandomProgramTest : public EngineTest,
                          public ::testing::WithParamInterface<const char*> {};

TEST_P(RandomProgramTest, HasTheBitsOfTheModelUnderAnyBudget) {
  Totals totals;
  for (uint32_t seed = 1; seed <= REKINDLE_RANDOM_PROGRAMS && !HasFailure();
       ++seed) {
    const size_t budget = kGranularity * (6 + seed % 40);
    Open(budget, GetParam(), seed % 2 == 0 ? 1024 : 0);
    RandomProgram program(*device_, *allocator_, *engine_, seed, budget);
    program.Run(60);
    totals.Add(engine_->stats(), program.exhausted());
    if (HasFailure()) std::printf("seed %u\n", seed);
  }
  totals.Print();
  EXPECT_GE(totals.recomputed * 2, totals.programs);
  EXPECT_GE(totals.deep * 10, totals.programs);
  EXPECT_GE(totals.rescued * 5, totals.programs);
  EXPECT_GT(totals.moved, 0);
}

INSTANTIATE_TEST_SUITE_P(Policies, RandomProgramTest,
                         ::testing::Values("dtr_eq:release=lazy", "dtr_eq",
                                           "dtr_local", "lru:release=lazy"));

}  // namespace
}  // namespace rekindle
