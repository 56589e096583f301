// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::AlignedFloats;
using reference::Doubles;
using reference::Floats;
using reference::Widen;

struct Case {
  explicit Case(const AttentionShape& s) : shape(s) {}

  AttentionShape shape;
  int64_t out_size = shape.batch * shape.time * shape.channels();
  int64_t probs_size = shape.batch * shape.heads * shape.time * shape.time;
  Floats qkv = reference::Random(3 * out_size, 1);
  Floats dout = reference::Random(out_size, 2);

  Attention Make(HostThreads threads) const {
    MatMulCache cache;
    absl::StatusOr<Attention> plan = Attention::Create(shape, threads, cache);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  // Memory that nobody wrote holds not-a-number in these tests.
  static AlignedFloats Unwritten(size_t count, size_t offset) {
    return AlignedFloats(Floats(count, std::numeric_limits<float>::quiet_NaN()),
                         offset);
  }

  // out, then probs.
  Floats Forward(const Attention& plan, size_t offset = 0) const {
    const AlignedFloats in(qkv, offset);
    const AlignedFloats out = Unwritten(static_cast<size_t>(out_size), offset);
    const AlignedFloats probs =
        Unwritten(static_cast<size_t>(probs_size), offset);
    const AlignedFloats workspace =
        Unwritten(plan.forward_workspace_bytes() / 4, offset);
    EXPECT_TRUE(
        plan.Forward(in.data(), out.data(), probs.data(), workspace.data())
            .ok());
    Floats all = out.Values();
    const Floats rest = probs.Values();
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

  Floats Backward(const Attention& plan, size_t offset = 0) const {
    const Floats forward = Forward(plan, offset);
    const AlignedFloats in(qkv, offset), gradient(dout, offset);
    const AlignedFloats probs(Floats(forward.begin() + out_size, forward.end()),
                              offset);
    const AlignedFloats dqkv = Unwritten(qkv.size(), offset);
    const AlignedFloats workspace =
        Unwritten(plan.backward_workspace_bytes() / 4, offset);
    EXPECT_TRUE(plan.Backward(in.data(), probs.data(), gradient.data(),
                              dqkv.data(), workspace.data())
                    .ok());
    return dqkv.Values();
  }

  Doubles Reference(const Doubles& in, Doubles* probs) const {
    return reference::Attention(in, shape.batch, shape.time, shape.heads,
                                shape.head_dim, probs);
  }
};

// One band of queries, several, and a last one that is not full.
constexpr AttentionShape kShapes[] = {{1, 1, 1, 1},   {2, 3, 1, 5},
                                      {1, 64, 2, 8},  {2, 65, 3, 16},
                                      {1, 200, 2, 7}, {3, 33, 4, 32}};

TEST(AttentionTest, AgreesWithTheReference) {
  for (const AttentionShape& shape : kShapes) {
    SCOPED_TRACE(shape.time);
    const Case c(shape);
    Doubles probs;
    Doubles want = c.Reference(Widen(c.qkv), &probs);
    want.insert(want.end(), probs.begin(), probs.end());
    reference::ExpectNear(c.Forward(c.Make({2})), want, 1e-5);
  }
}

TEST(AttentionTest, GradientAgreesWithFiniteDifferences) {
  for (const AttentionShape& shape :
       {AttentionShape{1, 1, 1, 1}, {2, 5, 2, 3}, {1, 70, 1, 2}}) {
    SCOPED_TRACE(shape.time);
    const Case c(shape);
    const Doubles want =
        reference::NumericalGradient(Widen(c.qkv), [&](const Doubles& in) {
          return reference::Dot(c.Reference(in, nullptr), c.dout);
        });
    reference::ExpectNear(c.Backward(c.Make({2})), want, 2e-5);
  }
}

TEST(AttentionTest, BitsDoNotDependOnAddressesOrCallingThread) {
  for (const AttentionShape& shape : kShapes) {
    const Case c(shape);
    for (int threads : {1, 2, 3}) {
      const Attention plan = c.Make({threads});
      const Floats forward = c.Forward(plan), backward = c.Backward(plan);
      for (size_t offset : {64, 192, 1024}) {
        ASSERT_TRUE(reference::SameBits(forward, c.Forward(plan, offset)));
        ASSERT_TRUE(reference::SameBits(backward, c.Backward(plan, offset)));
      }
      Floats elsewhere;
      std::thread([&] { elsewhere = c.Backward(c.Make({threads})); }).join();
      ASSERT_TRUE(reference::SameBits(backward, elsewhere));
    }
  }
}

TEST(AttentionTest, NothingComesFromLaterPositions) {
  Case c({1, 130, 2, 8});
  const Attention plan = c.Make({2});
  const Floats before = c.Forward(plan);
  constexpr int64_t kKept = 77;
  for (size_t i = kKept * 3 * 16; i < c.qkv.size(); ++i) c.qkv[i] += 1.0f;
  const Floats after = c.Forward(plan);
  EXPECT_TRUE(
      std::equal(before.begin(), before.begin() + kKept * 16, after.begin()));
}

TEST(AttentionTest, RefusesAnEmptyShape) {
  MatMulCache cache;
  EXPECT_EQ(Attention::Create({2, 3, 0, 4}, {1}, cache).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Attention::Create({2, 0, 1, 4}, {1}, cache).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace rekindle::ops::host
