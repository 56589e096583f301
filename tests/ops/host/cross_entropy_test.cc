// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/cross_entropy.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::Doubles;
using reference::Floats;
using reference::Widen;

struct Case {
  explicit Case(MatrixShape s) : shape(s) {}

  MatrixShape shape;
  Floats logits = reference::Random(shape.size(), 1, 2.0f);
  std::vector<int32_t> targets =
      reference::RandomIndices(shape.rows, shape.columns, 2);

  // loss, then logsumexp.
  Floats Forward(HostThreads threads) const {
    Floats out(1 + static_cast<size_t>(shape.rows));
    EXPECT_TRUE(CrossEntropy(threads, shape, logits.data(), targets.data(),
                             out.data(), out.data() + 1)
                    .ok());
    return out;
  }

  Floats Backward(HostThreads threads, float dloss) const {
    const Floats forward = Forward(threads);
    Floats dlogits = logits;
    EXPECT_TRUE(CrossEntropyBackward(threads, shape, dlogits.data(),
                                     targets.data(), forward.data() + 1, &dloss,
                                     dlogits.data())
                    .ok());
    return dlogits;
  }
};

TEST(CrossEntropyTest, AgreesWithTheReference) {
  for (const MatrixShape shape :
       {MatrixShape{1, 1}, {1, 65}, {7, 2}, {130, 65}, {33, 1003}}) {
    const Case c(shape);
    const Floats out = reference::SameForAnyThreads(
        [&](HostThreads threads) { return c.Forward(threads); });
    EXPECT_NEAR(
        out[0],
        reference::CrossEntropy(Widen(c.logits), c.targets, shape.columns),
        1e-5);
  }
}

TEST(CrossEntropyTest, GradientAgreesWithFiniteDifferences) {
  for (const MatrixShape shape :
       {MatrixShape{1, 1}, {1, 17}, {7, 2}, {5, 33}}) {
    const Case c(shape);
    const Floats got = reference::SameForAnyThreads(
        [&](HostThreads threads) { return c.Backward(threads, 2.5f); });
    reference::ExpectNear(got,
                          reference::NumericalGradient(
                              Widen(c.logits),
                              [&](const Doubles& v) {
                                return 2.5 * reference::CrossEntropy(
                                                 v, c.targets, shape.columns);
                              }),
                          1e-5);
  }
}

TEST(CrossEntropyTest, GradientHasTheSameBitsForAnyThreads) {
  const Case c({517, 131});
  reference::SameForAnyThreads(
      [&](HostThreads threads) { return c.Backward(threads, 1.0f); });
}

TEST(CrossEntropyTest, NamesATargetThatIsOutOfRange) {
  for (int32_t bad : {-1, 65, 70000}) {
    Case c({6, 65});
    c.targets[4] = bad;
    Floats loss(1, 9.0f), logsumexp(6, 9.0f), dlogits(c.logits.size(), 9.0f);
    const absl::Status forward =
        CrossEntropy({1}, c.shape, c.logits.data(), c.targets.data(),
                     loss.data(), logsumexp.data());
    EXPECT_EQ(forward.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(forward.message()),
              "target[4] is " + std::to_string(bad) + ", outside [0, 65)");
    EXPECT_EQ(loss[0], 9.0f);
    EXPECT_EQ(logsumexp, Floats(6, 9.0f));
    EXPECT_EQ(
        CrossEntropyBackward({1}, c.shape, c.logits.data(), c.targets.data(),
                             logsumexp.data(), loss.data(), dlogits.data()),
        forward);
    EXPECT_EQ(dlogits, Floats(c.logits.size(), 9.0f));
  }
}

}  // namespace
}  // namespace rekindle::ops::host
