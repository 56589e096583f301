// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/matmul.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::AlignedFloats;
using reference::Doubles;
using reference::Floats;

// Elements that an operand with these strides spans.
int64_t Span(const MatMulShape& s, int64_t rows, int64_t columns,
             const MatrixStrides& strides) {
  return 1 + (s.outer_batch - 1) * strides.outer +
         (s.inner_batch - 1) * strides.inner + (rows - 1) * strides.row +
         (columns - 1) * strides.column;
}

struct Case {
  explicit Case(const MatMulShape& s) : shape(s) {}

  MatMulShape shape;
  Floats a = reference::Random(Span(shape, shape.m, shape.k, shape.a), 1);
  Floats b = reference::Random(Span(shape, shape.k, shape.n, shape.b), 2);
  Floats c = reference::Random(Span(shape, shape.m, shape.n, shape.c), 3);

  Floats Run(const MatMul& plan, size_t offset = 0) const {
    const AlignedFloats x(a, offset), y(b, 2 * offset), z(c, 3 * offset);
    const AlignedFloats workspace(Floats(plan.workspace_bytes() / 4 + 1),
                                  offset);
    EXPECT_TRUE(plan.Run(x.data(), y.data(), z.data(), workspace.data()).ok());
    return z.Values();
  }

  Doubles Reference() const {
    Doubles out = reference::Widen(c);
    const MatMulShape& s = shape;
    for (int64_t o = 0; o < s.outer_batch; ++o) {
      for (int64_t i = 0; i < s.inner_batch; ++i) {
        for (int64_t row = 0; row < s.m; ++row) {
          for (int64_t column = 0; column < s.n; ++column) {
            Set(o, i, row, column, out);
          }
        }
      }
    }
    return out;
  }

 private:
  static size_t At(const MatrixStrides& s, int64_t o, int64_t i, int64_t row,
                   int64_t column) {
    return static_cast<size_t>(o * s.outer + i * s.inner + row * s.row +
                               column * s.column);
  }

  void Set(int64_t o, int64_t i, int64_t row, int64_t column,
           Doubles& out) const {
    double sum = 0.0;
    for (int64_t k = 0; k < shape.k; ++k) {
      sum += double{a[At(shape.a, o, i, row, k)]} *
             b[At(shape.b, o, i, k, column)];
    }
    double& element = out[At(shape.c, o, i, row, column)];
    element = double{shape.alpha} * sum + double{shape.beta} * element;
  }
};

MatMul Make(const MatMulShape& shape, HostThreads threads) {
  absl::StatusOr<MatMul> plan = MatMul::Create(shape, threads);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

// The shapes of a small GPT, odd ones, and the smallest.
std::vector<MatMulShape> Shapes() {
  std::vector<MatMulShape> shapes;
  const int64_t sizes[][3] = {{1, 1, 1},     {1, 17, 3},    {5, 1, 31},
                              {33, 65, 1},   {64, 65, 128}, {17, 19, 23},
                              {96, 128, 32}, {130, 64, 257}};
  for (const auto& [m, n, k] : sizes) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      const bool ta = (transposes & 1) != 0, tb = (transposes & 2) != 0;
      shapes.push_back(
          MatMulShape::Dense(m, n, k, {.transpose_a = ta, .transpose_b = tb}));
      shapes.push_back(MatMulShape::Dense(
          m, n, k, {.transpose_a = ta, .transpose_b = tb, .batch = 3}));
      shapes.push_back(MatMulShape::Dense(m, n, k,
                                          {.transpose_a = ta,
                                           .transpose_b = tb,
                                           .alpha = -0.5f,
                                           .beta = 2.0f}));
    }
  }
  return shapes;
}

// Heads of attention inside rows of a batch: q k^T.
MatMulShape HeadsShape() {
  constexpr int64_t kTime = 33, kHeads = 3, kDim = 16;
  constexpr int64_t kRow = 3 * kHeads * kDim;
  const MatrixStrides q{kRow, 1, kTime * kRow, kDim};
  return {.m = kTime,
          .n = kTime,
          .k = kDim,
          .outer_batch = 2,
          .inner_batch = kHeads,
          .a = q,
          .b = {1, kRow, kTime * kRow, kDim},
          .c = {kTime, 1, kHeads * kTime * kTime, kTime * kTime}};
}

TEST(MatMulTest, AgreesWithTheReference) {
  for (const MatMulShape& shape : Shapes()) {
    SCOPED_TRACE(testing::Message()
                 << shape.m << "x" << shape.n << "x" << shape.k << " batch "
                 << shape.outer_batch);
    const Case c(shape);
    reference::ExpectNear(c.Run(Make(shape, {2})), c.Reference(), 3e-5);
  }
}

TEST(MatMulTest, ReadsHeadsWhereTheyLie) {
  const Case c(HeadsShape());
  reference::ExpectNear(c.Run(Make(c.shape, {2})), c.Reference(), 1e-5);
}

TEST(MatMulTest, BitsDoNotDependOnAddressesOrCallingThread) {
  std::vector<MatMulShape> shapes = Shapes();
  shapes.push_back(HeadsShape());
  shapes.push_back(MatMulShape::Dense(512, 128, 512));
  shapes.push_back(MatMulShape::Dense(128, 512, 512, {.transpose_a = true}));
  for (const MatMulShape& shape : shapes) {
    const Case c(shape);
    for (int threads : {1, 2, 3}) {
      const MatMul plan = Make(shape, {threads});
      const Floats first = c.Run(plan);
      for (size_t offset : {0, 64, 192, 1024}) {
        ASSERT_TRUE(reference::SameBits(first, c.Run(plan, offset)));
      }
      Floats elsewhere;
      std::thread([&] { elsewhere = c.Run(Make(shape, {threads})); }).join();
      ASSERT_TRUE(reference::SameBits(first, elsewhere));
    }
  }
}

TEST(MatMulTest, ManyThreadsMayRunOnePlanAtOnce) {
  const Case c(MatMulShape::Dense(130, 64, 257, {.transpose_a = true}));
  const MatMul plan = Make(c.shape, {2});
  const Floats want = c.Run(plan);
  std::vector<Floats> got(4);
  std::vector<std::thread> threads;
  for (Floats& result : got) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = c.Run(plan);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Floats& result : got) {
    EXPECT_TRUE(reference::SameBits(want, result));
  }
}

TEST(MatMulTest, LeavesTheThreadCountOfTheCallerAlone) {
  const HostThreads before = MaxHostThreads();
  const Case c(MatMulShape::Dense(8, 8, 8));
  c.Run(Make(c.shape, {before.count + 3}));
  EXPECT_EQ(MaxHostThreads(), before);
}

TEST(MatMulTest, RefusesWhatItCannotDo) {
  const auto code = [](const MatMulShape& shape) {
    return MatMul::Create(shape, {1}).status().code();
  };
  EXPECT_EQ(code(MatMulShape::Dense(0, 1, 1)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(MatMulShape::Dense(1, 1, -4)),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(MatMulShape::Dense(1, 1, 1, {.batch = 0})),
            absl::StatusCode::kInvalidArgument);
  MatMulShape strided = MatMulShape::Dense(4, 4, 4);
  strided.a.column = 2;
  EXPECT_EQ(code(strided), absl::StatusCode::kInvalidArgument);
}

TEST(MatMulCacheTest, GivesThePlanOfTheShape) {
  MatMulCache cache;
  for (int round = 0; round < 2; ++round) {
    for (const MatMulShape& shape : Shapes()) {
      const Case c(shape);
      const absl::StatusOr<MatMul> plan = cache.Get(shape, {1});
      ASSERT_TRUE(plan.ok());
      ASSERT_TRUE(reference::SameBits(c.Run(*plan), c.Run(Make(shape, {1}))));
    }
  }
  EXPECT_FALSE(cache.Get(MatMulShape::Dense(0, 1, 1), {1}).ok());
}

}  // namespace
}  // namespace rekindle::ops::host
