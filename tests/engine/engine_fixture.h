// SPDX-License-Identifier: Apache-2.0
// An engine on a real host device, with kernels on arrays of 32-bit words whose
// results depend on every word of every input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/device/host/host_device.h"
#include "rekindle/engine/engine.h"
#include "rekindle/evictor/policies.h"

namespace rekindle {

using Words = std::vector<uint32_t>;

// One step of mixing `word` into `state`.
inline uint32_t Mix(uint32_t state, uint32_t word) {
  state = (state ^ word) * 0x9E3779B1u;
  return state ^ (state >> 15);
}

// What output `output` of a call with `salt` holds: the reference model.
inline Words MixAll(const std::vector<Words>& inputs, uint32_t salt,
                    size_t words) {
  uint32_t state = salt;
  for (const Words& input : inputs) {
    for (uint32_t word : input) state = Mix(state, word);
  }
  Words out(words);
  for (uint32_t& word : out) word = state = Mix(state, 1);
  return out;
}

// 1, 2, 3, ...: by default, as many as fill one chunk.
inline constexpr size_t kWords = 1024;
inline Words Ramp(size_t words = kWords) {
  Words ramp(words);
  std::iota(ramp.begin(), ramp.end(), 1u);
  return ramp;
}

class EngineTest : public ::testing::Test {
 protected:
  static constexpr size_t kGranularity = 4096;
  static constexpr size_t kUnlimited = size_t{64} << 20;

  // Starts over with a new device.
  void Open(size_t budget, const std::string& policy = "dtr_eq:release=lazy",
            size_t small_block_limit = 0) {
    engine_.reset();
    allocator_.reset();
    HostDeviceOptions options;
    options.capacity = kUnlimited;
    options.granularity = kGranularity;
    options.poison = true;
    device_ = HostDevice::Open(options).value();
    VmmAllocatorOptions allocator_options;
    allocator_options.budget = budget;
    allocator_options.small_block_limit = small_block_limit;
    allocator_ = VmmAllocator::Create(*device_, allocator_options).value();
    engine_ = std::make_unique<Engine>(*device_, *allocator_,
                                       MakePolicy(policy).value());
  }

  StorageId Constant(const Words& words, const std::string& name = "constant") {
    const StorageId id =
        engine_->AddConstant(words.size() * 4, Kind::kInput, {name}).value();
    Poke(id, words);
    return id;
  }

  void Poke(StorageId id, const Words& words) {
    const DeviceAddress address = engine_->Pin(id, {"poke"}).value();
    std::copy(words.begin(), words.end(), reinterpret_cast<uint32_t*>(address));
    engine_->Unpin(id);
  }

  Words Read(StorageId id, size_t words) {
    const absl::StatusOr<DeviceAddress> address = engine_->Pin(id, {"read"});
    EXPECT_TRUE(address.ok()) << address.status();
    if (!address.ok()) return {};
    const auto* data = reinterpret_cast<const uint32_t*>(*address);
    const Words read(data, data + words);
    engine_->Unpin(id);
    return read;
  }

  // A call whose outputs are MixAll of its inputs, salted by output number.
  static CallSpec MixCall(StorageIds inputs, std::vector<size_t> input_words,
                          std::vector<size_t> output_words, uint32_t salt) {
    CallSpec spec;
    spec.label = {"mix"};
    spec.inputs = std::move(inputs);
    for (size_t words : output_words) spec.output_bytes.push_back(words * 4);
    spec.cost = 1;
    spec.execute = [input_words, output_words,
                    salt](const KernelBinding& binding) {
      std::vector<Words> values;
      for (size_t i = 0; i < input_words.size(); ++i) {
        const auto* in = reinterpret_cast<const uint32_t*>(binding.inputs[i]);
        values.emplace_back(in, in + input_words[i]);
      }
      for (size_t i = 0; i < output_words.size(); ++i) {
        const Words out =
            MixAll(values, salt + static_cast<uint32_t>(i), output_words[i]);
        std::copy(out.begin(), out.end(),
                  reinterpret_cast<uint32_t*>(binding.outputs[i]));
      }
      return absl::OkStatus();
    };
    return spec;
  }

  // One input of `words`, one output of `words`.
  StorageId Next(StorageId input, size_t words, uint32_t salt = 1) {
    return engine_->Run(MixCall({input}, {words}, {words}, salt))
        .value()
        .outputs[0];
  }

  // words[i] = Mix(words[i], salt), in place.
  static CallSpec BumpCall(StorageId target, size_t words, uint32_t salt) {
    CallSpec spec;
    spec.label = {"bump"};
    spec.inputs = {target};
    spec.mutates = {0};
    spec.cost = 1;
    spec.execute = [words, salt](const KernelBinding& binding) {
      auto* data = reinterpret_cast<uint32_t*>(binding.inputs[0]);
      for (size_t i = 0; i < words; ++i) data[i] = Mix(data[i], salt);
      return absl::OkStatus();
    };
    return spec;
  }
  static Words Bumped(Words words, uint32_t salt) {
    for (uint32_t& word : words) word = Mix(word, salt);
    return words;
  }
  StorageId Bump(StorageId target, size_t words, uint32_t salt = 7) {
    return engine_->Run(BumpCall(target, words, salt)).value().updated[0];
  }

  std::unique_ptr<HostDevice> device_;
  std::unique_ptr<VmmAllocator> allocator_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace rekindle
