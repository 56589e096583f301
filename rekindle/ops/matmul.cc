// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/matmul.h"

#include <utility>

#include "rekindle/ops/bias.h"
#include "rekindle/ops/host/bias.h"
#include "rekindle/ops/host/matmul.h"
#include "rekindle/ops/operator.h"
#include "rekindle/ops/shapes.h"

namespace rekindle::ops {
namespace {

using DenseOptions = host::MatMulShape::DenseOptions;

// [m, k] times [k, n], as it is or transposed in memory.
struct Product {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  DenseOptions layout;

  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
  absl::StatusOr<host::MatMul> Plan(Context& context) const {
    return context.matmuls().Get(host::MatMulShape::Dense(m, n, k, layout),
                                 context.threads());
  }
};

CallOptions OptionsOf(const Product& product, const host::MatMul& plan) {
  CallOptions options;
  options.flops = product.flops();
  options.workspace_bytes = plan.workspace_bytes();
  return options;
}

Kernel ProductKernel(host::MatMul plan) {
  return [plan = std::move(plan)](KernelArgs& a) {
    return plan.Run(a.input<float>(0), a.input<float>(1), a.output<float>(0),
                    a.workspace());
  };
}

Kernel LinearKernel(host::MatMul plan, host::HostThreads threads,
                    MatrixShape shape) {
  return [=, plan = std::move(plan)](KernelArgs& a) {
    float* y = a.output<float>(0);
    absl::Status status =
        plan.Run(a.input<float>(0), a.input<float>(1), y, a.workspace());
    if (status.ok()) host::BiasAdd(threads, shape, y, a.input<float>(2), y);
    return status;
  };
}

// Adds left * right to the gradient of input `i`, which has this spec.
void AddProduct(Gradients& g, int i, absl::string_view suffix,
                const Product& product, const Tensor& left, const Tensor& right,
                const Spec& spec) {
  if (!g.wants(i)) return;
  absl::StatusOr<host::MatMul> plan = product.Plan(g.context());
  if (!plan.ok()) return g.Fail(plan.status());
  g.Add(i, g.Call(suffix, OptionsOf(product, *plan), {left, right}, {spec},
                  ProductKernel(*plan))[0]);
}

// What is kept of x [m, k] and w for the gradients of x w.
struct Saved {
  Tensor x;
  Tensor w;
  int64_t m, n, k;
  Spec x_spec, w_spec;

  Saved(const Var& left, const Var& right, const Product& product)
      : x(left.value().Snapshot()),
        w(right.value().Snapshot()),
        m(product.m),
        n(product.n),
        k(product.k),
        x_spec(left.spec()),
        w_spec(right.spec()) {}

  // dw = x^T dy, then dx = dy w^T: x can go in between.
  void AddGradients(Gradients& g) {
    AddProduct(g, 1, "_dw", {k, n, m, {.transpose_a = true}}, x, g.dy(),
               w_spec);
    x = Tensor();
    AddProduct(g, 0, "_dx", {m, k, n, {.transpose_b = true}}, g.dy(), w,
               x_spec);
  }

  // For x w^T with w [n, k]: dw = dy^T x, dx = dy w.
  void AddTransposedGradients(Gradients& g) {
    AddProduct(g, 1, "_dw", {n, k, m, {.transpose_a = true}}, g.dy(), x,
               w_spec);
    x = Tensor();
    AddProduct(g, 0, "_dx", {m, k, n, {}}, g.dy(), w, x_spec);
  }
};

// x w, or x w^T if `transposed`.
Var Multiply(std::string name, const Var& a, const Var& b, bool transposed,
             Site site) {
  Operator op(std::move(name), {{"a", a}, {"b", b}}, site);
  const int inner = transposed ? 1 : 0;
  if (!op.Require(IsF32(a) && IsF32(b), "both must be f32") ||
      !op.Require(a.rank() >= 1 && b.rank() == 2, "b must be a matrix") ||
      !op.Require(a.dim(-1) == b.dim(inner), "inner dimensions differ")) {
    return op.Failed();
  }
  const Product product{RowsOf(a.spec()).rows,
                        b.dim(1 - inner),
                        b.dim(inner),
                        {.transpose_b = transposed}};
  absl::StatusOr<host::MatMul> plan = product.Plan(a.context());
  if (!op.Require(plan.status())) return op.Failed();
  Tensor y =
      op.Call(OptionsOf(product, *plan), {WithLastDim(a.spec(), product.n)},
              ProductKernel(*plan))[0];
  return op.Result(std::move(y), [transposed, saved = Saved(a, b, product)](
                                     Gradients& g) mutable {
    transposed ? saved.AddTransposedGradients(g) : saved.AddGradients(g);
  });
}

}  // namespace

Var MatMul(const Var& a, const Var& b, Site site) {
  return Multiply("matmul", a, b, false, site);
}

Var MatMulTransposed(const Var& a, const Var& b, Site site) {
  return Multiply("matmul_transposed", a, b, true, site);
}

Var Linear(const Var& x, const Var& w, const Var& bias, Site site) {
  Operator op("linear", {{"x", x}, {"w", w}, {"bias", bias}}, site);
  if (!op.Require(IsF32(x) && IsF32(w) && IsF32(bias), "all must be f32") ||
      !op.Require(x.rank() >= 1 && w.rank() == 2 && bias.rank() == 1,
                  "x [.., k], w [k, n], bias [n] expected") ||
      !op.Require(x.dim(-1) == w.dim(0), "inner dimensions differ") ||
      !op.Require(w.dim(1) == bias.dim(0), "w and bias differ in n")) {
    return op.Failed();
  }
  const Product product{RowsOf(x.spec()).rows, w.dim(1), w.dim(0), {}};
  absl::StatusOr<host::MatMul> plan = product.Plan(x.context());
  if (!op.Require(plan.status())) return op.Failed();
  const MatrixShape shape{product.m, product.n};
  Tensor y =
      op.Call(OptionsOf(product, *plan), {WithLastDim(x.spec(), product.n)},
              LinearKernel(*plan, x.context().threads(), shape))[0];
  return op.Result(std::move(y),
                   [saved = Saved(x, w, product), shape](Gradients& g) mutable {
                     AddBiasGradient(g, 2, shape);
                     saved.AddGradients(g);
                   });
}

}  // namespace rekindle::ops
