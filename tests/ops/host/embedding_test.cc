// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/embedding.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/ops/host/reference.h"

namespace rekindle::ops::host {
namespace {

using reference::Doubles;
using reference::Floats;

struct Case {
  explicit Case(EmbeddingShape s) : shape(s) {}

  EmbeddingShape shape;
  int64_t count = shape.batch * shape.time;
  std::vector<int32_t> tokens =
      reference::RandomIndices(count, shape.vocabulary, 1);
  Floats token_table = reference::Random(shape.vocabulary * shape.channels, 2);
  Floats position_table =
      reference::Random(shape.positions * shape.channels, 3);
  Floats dy = reference::Random(count * shape.channels, 4);

  Floats Forward(HostThreads threads) const {
    Floats y(dy.size());
    EXPECT_TRUE(Embedding(threads, shape, tokens.data(), token_table.data(),
                          position_table.data(), y.data())
                    .ok());
    return y;
  }

  // Token table, then position table.
  Floats Backward(HostThreads threads) const {
    Floats out(token_table.size() + position_table.size(), 9.0f);
    EXPECT_TRUE(EmbeddingBackward(threads, shape, tokens.data(), dy.data(),
                                  out.data(), out.data() + token_table.size())
                    .ok());
    return out;
  }
};

constexpr EmbeddingShape kShapes[] = {
    {.batch = 1, .time = 1, .channels = 1, .vocabulary = 1, .positions = 1},
    {.batch = 3, .time = 5, .channels = 7, .vocabulary = 11, .positions = 5},
    {.batch = 2, .time = 3, .channels = 5, .vocabulary = 2, .positions = 9},
    {.batch = 9,
     .time = 65,
     .channels = 129,
     .vocabulary = 65,
     .positions = 70}};

TEST(EmbeddingTest, AddsTheTwoRows) {
  for (const EmbeddingShape& shape : kShapes) {
    const Case c(shape);
    const Floats y = reference::SameForAnyThreads(
        [&](HostThreads threads) { return c.Forward(threads); });
    const auto channels = static_cast<size_t>(shape.channels);
    const auto time = static_cast<size_t>(shape.time);
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t place = i / channels, channel = i % channels;
      const auto token = static_cast<size_t>(c.tokens[place]);
      ASSERT_EQ(y[i], c.token_table[token * channels + channel] +
                          c.position_table[place % time * channels + channel]);
    }
  }
}

TEST(EmbeddingTest, GradientsAreSumsOverThePlacesThatLookedThemUp) {
  for (const EmbeddingShape& shape : kShapes) {
    const Case c(shape);
    const Floats got = reference::SameForAnyThreads(
        [&](HostThreads threads) { return c.Backward(threads); });
    const auto channels = static_cast<size_t>(shape.channels);
    const auto time = static_cast<size_t>(shape.time);
    Doubles want(got.size(), 0.0);
    for (size_t i = 0; i < c.dy.size(); ++i) {
      const size_t place = i / channels, channel = i % channels;
      const auto token = static_cast<size_t>(c.tokens[place]);
      want[token * channels + channel] += c.dy[i];
      want[c.token_table.size() + place % time * channels + channel] += c.dy[i];
    }
    reference::ExpectNear(got, want, 1e-5);
  }
}

TEST(EmbeddingTest, NamesATokenThatIsOutOfRange) {
  for (int32_t bad : {-3, 11, 1 << 30}) {
    Case c(kShapes[1]);
    c.tokens[7] = bad;
    Floats y(c.dy.size(), 9.0f);
    const absl::Status status =
        Embedding({1}, c.shape, c.tokens.data(), c.token_table.data(),
                  c.position_table.data(), y.data());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(status.message()),
              "token[7] is " + std::to_string(bad) + ", outside [0, 11)");
    EXPECT_EQ(y, Floats(y.size(), 9.0f));
    EXPECT_EQ(EmbeddingBackward({1}, c.shape, c.tokens.data(), c.dy.data(),
                                y.data(), y.data()),
              status);
    EXPECT_EQ(y, Floats(y.size(), 9.0f));
  }
}

TEST(EmbeddingTest, RefusesASequenceLongerThanThePositions) {
  Case c(kShapes[1]);
  c.shape.positions = 4;
  Floats y(c.dy.size());
  EXPECT_EQ(Embedding({1}, c.shape, c.tokens.data(), c.token_table.data(),
                      c.position_table.data(), y.data())
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace rekindle::ops::host
