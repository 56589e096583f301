// SPDX-License-Identifier: Apache-2.0
// Naive kernels in double precision, and what the tests of the host kernels
// share: random arrays, comparisons, numerical gradients, thread counts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "rekindle/ops/host/threads.h"

namespace rekindle::ops::host::reference {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

inline Floats Random(int64_t count, uint32_t seed, float deviation = 1.0f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, deviation);
  Floats values(static_cast<size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

inline std::vector<int32_t> RandomIndices(int64_t count, int64_t limit,
                                          uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int32_t> index(0,
                                               static_cast<int32_t>(limit) - 1);
  std::vector<int32_t> values(static_cast<size_t>(count));
  for (int32_t& value : values) value = index(generator);
  return values;
}

inline Doubles Widen(const Floats& values) {
  return Doubles(values.begin(), values.end());
}

// |got - want| <= tolerance * (1 + |want|), element by element.
inline void ExpectNear(const Floats& got, const Doubles& want,
                       double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], tolerance * (1.0 + std::abs(want[i])))
        << "element " << i;
  }
}

inline bool SameBits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         (a.empty() ||
          std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

// Runs `kernel` with one thread, again, with 2 and 3 threads, and from another
// thread; all results must have the bits of the first, which is returned.
inline Floats SameForAnyThreads(
    const std::function<Floats(HostThreads)>& kernel) {
  const Floats first = kernel({1});
  for (int count : {1, 2, 3}) {
    EXPECT_TRUE(SameBits(first, kernel({count}))) << count << " threads";
  }
  Floats elsewhere;
  std::thread([&] { elsewhere = kernel({2}); }).join();
  EXPECT_TRUE(SameBits(first, elsewhere)) << "from another thread";
  return first;
}

// d function / d x by central differences.
inline Doubles NumericalGradient(
    const Doubles& x, const std::function<double(const Doubles&)>& function) {
  Doubles gradient(x.size()), moved = x;
  for (size_t i = 0; i < x.size(); ++i) {
    const double step = 1e-5 * (1.0 + std::abs(x[i]));
    moved[i] = x[i] + step;
    const double above = function(moved);
    moved[i] = x[i] - step;
    gradient[i] = (above - function(moved)) / (2.0 * step);
    moved[i] = x[i];
  }
  return gradient;
}

inline double Dot(const Doubles& a, const Floats& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// An array whose first element is `offset` bytes past a page.
class AlignedFloats {
 public:
  AlignedFloats(const Floats& values, size_t offset)
      : bytes_(values.size() * sizeof(float) + offset),
        memory_(std::aligned_alloc(4096, (bytes_ + 4095) / 4096 * 4096 + 4096),
                std::free),
        data_(reinterpret_cast<float*>(static_cast<char*>(memory_.get()) +
                                       offset)),
        size_(values.size()) {
    std::copy(values.begin(), values.end(), data_);
  }
  float* data() const { return data_; }
  Floats Values() const { return Floats(data_, data_ + size_); }

 private:
  size_t bytes_;
  std::unique_ptr<void, void (*)(void*)> memory_;
  float* data_;
  size_t size_;
};

// ---- The naive kernels ----

inline double Gelu(double x) {
  const double u = std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(u));
}

// x [rows, columns], gamma [columns], beta [columns] -> [rows, columns]
inline Doubles LayerNorm(const Doubles& x, const Doubles& gamma,
                         const Doubles& beta, double epsilon) {
  const size_t columns = gamma.size();
  Doubles y(x.size());
  for (size_t row = 0; row < x.size(); row += columns) {
    double mean = 0.0, variance = 0.0;
    for (size_t c = 0; c < columns; ++c) mean += x[row + c];
    mean /= static_cast<double>(columns);
    for (size_t c = 0; c < columns; ++c) {
      variance += (x[row + c] - mean) * (x[row + c] - mean);
    }
    variance /= static_cast<double>(columns);
    for (size_t c = 0; c < columns; ++c) {
      y[row + c] =
          (x[row + c] - mean) / std::sqrt(variance + epsilon) * gamma[c] +
          beta[c];
    }
  }
  return y;
}

// Softmax of scale * x over the first `valid` of `columns`, then zeros.
inline void SoftmaxRow(const double* x, double scale, int64_t valid,
                       int64_t columns, double* y) {
  const double max = *std::max_element(x, x + valid);
  double sum = 0.0;
  for (int64_t c = 0; c < valid; ++c) sum += std::exp(scale * (x[c] - max));
  for (int64_t c = 0; c < columns; ++c) {
    y[c] = c < valid ? std::exp(scale * (x[c] - max)) / sum : 0.0;
  }
}

inline Doubles Softmax(const Doubles& x, int64_t columns) {
  Doubles y(x.size());
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(columns)) {
    SoftmaxRow(&x[row], 1.0, columns, columns, &y[row]);
  }
  return y;
}

// x [matrices, time, time]
inline Doubles CausalSoftmax(const Doubles& x, int64_t time, double scale) {
  Doubles y(x.size());
  for (int64_t row = 0; row * time < static_cast<int64_t>(x.size()); ++row) {
    const auto at = static_cast<size_t>(row * time);
    SoftmaxRow(&x[at], scale, row % time + 1, time, &y[at]);
  }
  return y;
}

inline double CrossEntropy(const Doubles& logits,
                           const std::vector<int32_t>& targets,
                           int64_t columns) {
  const Doubles probs = Softmax(logits, columns);
  double loss = 0.0;
  for (size_t r = 0; r < targets.size(); ++r) {
    loss -= std::log(probs[r * static_cast<size_t>(columns) +
                           static_cast<size_t>(targets[r])]);
  }
  return loss / static_cast<double>(targets.size());
}

// qkv [batch, time, 3, heads, dim] -> out [batch, time, heads, dim]; `probs`
// [batch, heads, time, time] unless null.
inline Doubles Attention(const Doubles& qkv, int64_t batch, int64_t time,
                         int64_t heads, int64_t dim, Doubles* probs) {
  const auto at = [&](int64_t b, int64_t t, int64_t part, int64_t h) {
    return qkv.begin() + (((b * time + t) * 3 + part) * heads + h) * dim;
  };
  Doubles out(static_cast<size_t>(batch * time * heads * dim), 0.0);
  if (probs != nullptr) probs->clear();
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t t = 0; t < time; ++t) {
        Doubles scores(static_cast<size_t>(time), 0.0), row(scores);
        for (int64_t s = 0; s <= t; ++s) {
          for (int64_t d = 0; d < dim; ++d) {
            scores[static_cast<size_t>(s)] +=
                at(b, t, 0, h)[d] * at(b, s, 1, h)[d];
          }
        }
        SoftmaxRow(scores.data(), 1.0 / std::sqrt(static_cast<double>(dim)),
                   t + 1, time, row.data());
        for (int64_t s = 0; s <= t; ++s) {
          for (int64_t d = 0; d < dim; ++d) {
            out[static_cast<size_t>(((b * time + t) * heads + h) * dim + d)] +=
                row[static_cast<size_t>(s)] * at(b, s, 2, h)[d];
          }
        }
        if (probs != nullptr)
          probs->insert(probs->end(), row.begin(), row.end());
      }
    }
  }
  return out;
}

}  // namespace rekindle::ops::host::reference
