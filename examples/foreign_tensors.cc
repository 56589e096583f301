// SPDX-License-Identifier: Apache-2.0
// Trains a network of eight layers with an array library that embeds
// Rekindle's engine: without a limit, and in a fraction of the memory. The
// losses must be equal bit for bit.
#include <cmath>
#include <cstdio>
#include <vector>

#include "examples/foreign_tensors/arrays.h"
#include "rekindle/base/philox.h"
#include "rekindle/base/units.h"

namespace {

using arrays::Array;
using arrays::Shape;
using arrays::Workspace;

constexpr size_t kBatch = 512;
constexpr size_t kWidth = 32;
constexpr size_t kLayers = 8;
constexpr int kSteps = 40;

std::vector<float> Noise(Shape shape, uint64_t draw, float scale) {
  std::vector<float> values(shape.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto block = rekindle::PhiloxBlock({1, draw}, i);
    values[i] = scale * (rekindle::PhiloxUniform(block[0]) - 0.5f);
  }
  return values;
}

// Forward, backward, update. Returns the mean square error.
float Step(Workspace& ws, std::vector<Array>& weights, const Array& x,
           const Array& target) {
  std::vector<Array> before = {x};  // input of each layer
  std::vector<Array> linear;        // before its relu
  for (const Array& w : weights) {
    linear.push_back(MatMul(ws, before.back(), w));
    before.push_back(Relu(ws, linear.back()));
  }
  const Array error = Subtract(ws, before.back(), target);
  float loss = 0;
  for (float value : ws.ToHost(error)) loss += value * value;
  Array gradient = error;
  for (size_t i = kLayers; i-- > 0;) {
    gradient = ReluBackward(ws, linear[i], gradient);
    const Array dw = MatMulTransposedA(ws, before[i], gradient);
    gradient = MatMulTransposedB(ws, gradient, weights[i]);
    ws.Descend(weights[i], dw, 0.05f / kBatch);
    before.pop_back();
    linear.pop_back();
  }
  return loss / (kBatch * kWidth);
}

struct Result {
  std::vector<float> losses;
  size_t peak_bytes = 0;
  long long recomputations = 0;
};

absl::StatusOr<Result> Train(size_t budget) {
  auto opened = Workspace::Open(budget);
  if (!opened.ok()) return opened.status();
  Workspace& ws = **opened;
  Result result;
  {
    const Shape square{kWidth, kWidth};
    const Shape batch{kBatch, kWidth};
    std::vector<Array> weights;
    for (size_t i = 0; i < kLayers; ++i) {
      weights.push_back(
          ws.FromHost(square, Noise(square, i, 5 / std::sqrt(1.0f * kWidth))));
    }
    const Array x = ws.FromHost(batch, Noise(batch, 100, 2));
    const Array target = ws.FromHost(batch, Noise(batch, 101, 1));
    for (int step = 0; step < kSteps; ++step) {
      result.losses.push_back(Step(ws, weights, x, target));
    }
  }
  if (!ws.status().ok()) return ws.status();
  result.peak_bytes = ws.peak_bytes();
  result.recomputations = ws.engine().stats().recomputations;
  return result;
}

}  // namespace

int main() {
  const auto unlimited = Train(64 * rekindle::kMiB);
  if (!unlimited.ok()) return 1;
  const size_t budget = unlimited->peak_bytes / 2;
  const auto limited = Train(budget);
  if (!limited.ok()) {
    std::printf("%s\n", limited.status().ToString().c_str());
    return 1;
  }
  const bool equal = limited->losses == unlimited->losses;
  std::printf("loss %g at the first step, %g at the last\n",
              unlimited->losses.front(), unlimited->losses.back());
  std::printf(
      "unlimited: %zu KiB; limited to %zu KiB: %zu KiB, %lld "
      "recomputations; losses equal: %s\n",
      unlimited->peak_bytes / 1024, budget / 1024, limited->peak_bytes / 1024,
      limited->recomputations, equal ? "yes" : "no");
  const bool held = limited->peak_bytes <= budget;
  return equal && held && limited->recomputations > 0 ? 0 : 1;
}
