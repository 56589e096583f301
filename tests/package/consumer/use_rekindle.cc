// SPDX-License-Identifier: Apache-2.0
// Eight tensors in the memory of four, through the public headers alone.
#include <cstdint>
#include <cstdio>

#include "rekindle/rekindle.h"

using rekindle::F32;
using rekindle::KernelArgs;
using rekindle::Tensor;

int main() {
  constexpr int64_t kElements = 1 << 18;  // 1 MiB
  rekindle::RuntimeOptions options;
  options.device = "host";
  options.budget = rekindle::Budget::Bytes(4 * rekindle::kMiB);
  auto runtime = rekindle::Runtime::Create(options).value();

  std::vector<Tensor> x = {runtime->Constant(F32({kElements}), nullptr)};
  for (size_t i = 0; i < 7; ++i) {
    x.push_back(runtime->Call(
        {.name = "add_one"}, {x[i]}, {F32({kElements})}, [](KernelArgs& args) {
          for (int64_t j = 0; j < kElements; ++j) {
            args.output<float>(0)[j] = args.input<float>(0)[j] + 1;
          }
          return absl::OkStatus();
        })[0]);
  }
  for (size_t i = 8; i-- > 0;) {
    const auto guard = x[i].Read();
    if (!guard.ok()) {
      std::printf("%s\n", guard.status().ToString().c_str());
      return 1;
    }
    if (guard->data<float>()[kElements - 1] != static_cast<float>(i)) return 1;
  }
  std::printf("%s", ToString(runtime->Stats()).c_str());
}
