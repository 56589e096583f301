// SPDX-License-Identifier: Apache-2.0
// What a call costs when its kernel does nothing and nothing is evicted: on a
// device that only counts, beside a loop that calls std::functions and copies
// two shared pointers a call.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "rekindle/allocator/vmm_allocator.h"
#include "rekindle/device/counting/counting_device.h"
#include "rekindle/engine/engine.h"
#include "rekindle/evictor/policies.h"
#include "rekindle/rekindle.h"

namespace rekindle {
namespace {

constexpr size_t kBytes = size_t{64} << 10;

std::shared_ptr<Device> Counting() {
  CountingDeviceOptions options;
  options.capacity = size_t{1} << 40;
  options.granularity = size_t{2} << 20;
  return CountingDevice::Open(options).value();
}

void Yardstick(benchmark::State& state) {
  const auto a = std::make_shared<int>(1);
  const auto b = std::make_shared<int>(2);
  std::function<int(std::shared_ptr<int>, std::shared_ptr<int>)> function =
      [](const std::shared_ptr<int>& x, const std::shared_ptr<int>& y) {
        return *x + *y;
      };
  for (auto _ : state) benchmark::DoNotOptimize(function(a, b));
}
BENCHMARK(Yardstick);

// Each call reads a constant and the output of the call before, of which the
// program keeps the last few, as the forward pass of a network does.
void RuntimeCall(benchmark::State& state) {
  RuntimeOptions options;
  options.custom_device = Counting();
  options.budget = Budget::Unlimited();
  options.record_steps = state.range(0) != 0;
  const std::unique_ptr<Runtime> rt = Runtime::Create(options).value();
  const Spec spec = F32({kBytes / 4});
  const Tensor w = rt->Constant(spec, nullptr);
  Tensor x = rt->Constant(spec, nullptr);
  constexpr size_t kStep = 1000;
  std::vector<Tensor> kept;
  for (auto _ : state) {
    x = rt->Call({.name = "layer", .flops = 1e9}, {x, w}, {spec},
                 [](KernelArgs&) { return absl::OkStatus(); })[0];
    kept.push_back(x);
    if (kept.size() < kStep) continue;
    kept.clear();
    if (!rt->BeginStep().ok()) state.SkipWithError("begin step");
  }
}
BENCHMARK(RuntimeCall)->ArgName("recorded")->Arg(0)->Arg(1);

// The same, of an engine embedded in another library.
void EngineRun(benchmark::State& state) {
  const std::shared_ptr<Device> device = Counting();
  VmmAllocatorOptions options;
  options.budget = size_t{1} << 40;
  const auto allocator = VmmAllocator::Create(*device, options).value();
  Engine engine(*device, *allocator, MakePolicy("dtr_eq:release=lazy").value());
  const StorageId w = engine.AddConstant(kBytes, Kind::kParameter, {}).value();
  StorageId x = engine.AddConstant(kBytes, Kind::kInput, {}).value();
  constexpr size_t kStep = 1000;
  std::vector<StorageId> kept;
  for (auto _ : state) {
    CallSpec spec;
    spec.inputs = {x, w};
    spec.output_bytes = {kBytes};
    spec.cost = 1;
    spec.execute = [](const KernelBinding&) { return absl::OkStatus(); };
    x = engine.Run(std::move(spec))->outputs[0];
    kept.push_back(x);
    if (kept.size() < kStep) continue;
    if (!engine.Detach(x).ok()) state.SkipWithError("detach");
    kept.pop_back();
    for (StorageId storage : kept) engine.DropReference(storage);
    kept.clear();
  }
}
BENCHMARK(EngineRun);

}  // namespace
}  // namespace rekindle
