// SPDX-License-Identifier: Apache-2.0
// A product of matrices through rekindle::ops.
#include <cstdio>
#include <vector>

#include "rekindle/ops/context.h"
#include "rekindle/ops/matmul.h"
#include "rekindle/rekindle.h"

int main() {
  rekindle::RuntimeOptions options;
  options.device = "host";
  auto runtime = rekindle::Runtime::Create(options).value();
  rekindle::ops::Context context(*runtime);
  const auto matrix = [&](const std::vector<float>& values) {
    return rekindle::ops::Var(
        context, runtime->Constant(rekindle::F32({2, 2}), values.data()));
  };
  const auto product =
      rekindle::ops::MatMul(matrix({1, 2, 3, 4}), matrix({0, 1, 1, 0}))
          .ToHost<float>();
  if (!product.ok()) {
    std::printf("%s\n", product.status().ToString().c_str());
    return 1;
  }
  return *product == std::vector<float>{2, 1, 4, 3} ? 0 : 1;
}
