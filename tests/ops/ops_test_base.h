// SPDX-License-Identifier: Apache-2.0
// What the tests of operators share: a runtime on the host, and the check of an
// operator against its naive form in double precision.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "rekindle/ops/context.h"
#include "rekindle/ops/elementwise.h"
#include "rekindle/ops/matmul.h"
#include "rekindle/ops/tape.h"
#include "rekindle/ops/var.h"
#include "rekindle/runtime/runtime.h"
#include "tests/ops/host/reference.h"

namespace rekindle::ops {

namespace reference = host::reference;
using reference::Doubles;
using reference::Floats;

// With more memory than any of these tests needs.
inline std::unique_ptr<Runtime> HostRuntime() {
  RuntimeOptions options;
  options.device = "host";
  options.budget = Budget::Bytes(size_t{64} << 20);
  options.snapshot_directory = "";
  auto runtime = Runtime::Create(options);
  EXPECT_TRUE(runtime.ok()) << runtime.status();
  return *std::move(runtime);
}

class OpsTest : public testing::Test {
 protected:
  OpsTest() : runtime_(HostRuntime()), context_(*runtime_, {2}) {}
  ~OpsTest() override { runtime_->CheckInvariants(); }

  Tensor Make(const Shape& shape, const Floats& values) {
    return runtime_->Constant({DType::kF32, shape}, values.data());
  }
  Tensor Make(const Shape& shape, const std::vector<int32_t>& values) {
    return runtime_->Constant({DType::kI32, shape}, values.data());
  }
  Tensor Random(const Shape& shape, uint32_t seed) {
    const Spec spec{DType::kF32, shape};
    return Make(shape, reference::Random(spec.elements(), seed));
  }
  // One without a tape.
  Var Plain(const Tensor& value) { return Var(context_, value); }

  static Floats Values(const Tensor& tensor) {
    absl::StatusOr<Floats> values = tensor.ToHost<float>();
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? *values : Floats();
  }

  // sum of weights[i] * y[i]: makes a loss of anything.
  Var WeightedSum(const Var& y, const Floats& weights) {
    const int64_t n = y.spec().elements();
    return MatMul(Reshape(y, {1, n}), Plain(Make({n, 1}, weights)));
  }

  // Checks the value of `op` and the gradients of all its operands against
  // `naive`, which takes and gives the same in double precision.
  struct Operand {
    Shape shape;
    Floats values;
  };
  void CheckOperator(
      const std::vector<Operand>& operands,
      const std::function<Var(const std::vector<Var>&)>& op,
      const std::function<Doubles(const std::vector<Doubles>&)>& naive,
      double tolerance = 1e-5);

  std::unique_ptr<Runtime> runtime_;
  Context context_;
};

inline void OpsTest::CheckOperator(
    const std::vector<Operand>& operands,
    const std::function<Var(const std::vector<Var>&)>& op,
    const std::function<Doubles(const std::vector<Doubles>&)>& naive,
    double tolerance) {
  Tape tape(context_);
  std::vector<Var> vars;
  std::vector<Doubles> wide;
  for (const Operand& operand : operands) {
    vars.push_back(tape.Watch(Make(operand.shape, operand.values)));
    wide.push_back(reference::Widen(operand.values));
  }
  const Var y = op(vars);
  ASSERT_TRUE(y.status().ok()) << y.status();
  reference::ExpectNear(Values(y.value()), naive(wide), tolerance);

  const Floats weights = reference::Random(y.spec().elements(), 99);
  ASSERT_EQ(tape.Backward(WeightedSum(y, weights)), absl::OkStatus());
  for (size_t i = 0; i < operands.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "gradient of operand " << i);
    const std::optional<Tensor> gradient = tape.Gradient(vars[i]);
    ASSERT_TRUE(gradient.has_value());
    EXPECT_EQ(gradient->spec(), vars[i].spec());
    const Doubles want =
        reference::NumericalGradient(wide[i], [&](const Doubles& x) {
          std::vector<Doubles> moved = wide;
          moved[i] = x;
          return reference::Dot(naive(moved), weights);
        });
    reference::ExpectNear(Values(*gradient), want, 4 * tolerance);
  }
}

}  // namespace rekindle::ops
