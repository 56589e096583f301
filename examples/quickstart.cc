// SPDX-License-Identifier: Apache-2.0
// Twenty-one tensors in the memory of five. Each is made from the one before;
// then all are read, last first, as a backward pass would.
#include <cstdio>

#include "rekindle/rekindle.h"

using namespace rekindle;  // NOLINT: an example

int main() {
  constexpr int64_t n = 1 << 20;  // 4 MiB of float
  RuntimeOptions options;
  options.budget = Budget::Bytes(20 * kMiB);
  auto rt = Runtime::Create(options).value();
  std::vector<Tensor> x = {rt->Constant(F32({n}), nullptr)};  // zeros
  for (int i = 0; i < 20; ++i) {
    x.push_back(
        rt->Call({.name = "add_one"}, {x[i]}, {F32({n})}, [](KernelArgs& a) {
          for (int64_t j = 0; j < n; ++j)
            a.output<float>(0)[j] = a.input<float>(0)[j] + 1;
          return absl::OkStatus();
        })[0]);
  }
  float sum = 0;
  for (int i = 20; i > 0; --i) sum += x[i].Read()->data<float>()[n - 1];
  std::printf("sum %g (expected 210)\n%s", sum, ToString(rt->Stats()).c_str());
}
