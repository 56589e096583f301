// SPDX-License-Identifier: Apache-2.0
// What both programs train: a residual network that tells three interleaved
// spirals apart. Nothing here knows where tensors live.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

constexpr int kRows = 1024;  // points, all in each step
constexpr int kInputs = 2;
constexpr int kWidth = 32;
constexpr int kBlocks = 12;
constexpr int kClasses = 3;
constexpr int kSteps = 20;
constexpr float kRate = 0.05f;

// Layer 0 widens the inputs, the last one makes the logits, the others are the
// residual blocks between them.
constexpr int kLayers = kBlocks + 2;
inline int In(int layer) { return layer == 0 ? kInputs : kWidth; }
inline int Out(int layer) { return layer == kLayers - 1 ? kClasses : kWidth; }

struct Points {
  std::vector<float> x;  // [kRows, kInputs]
  std::vector<int> labels;
};

inline Points Spirals() {
  Points points;
  for (int i = 0; i < kRows; ++i) {
    const int label = i % kClasses;
    const float radius = static_cast<float>(i) / kRows;
    const float angle = 5 * radius + 2.0944f * static_cast<float>(label);
    points.x.push_back(radius * std::sin(angle));
    points.x.push_back(radius * std::cos(angle));
    points.labels.push_back(label);
  }
  return points;
}

// Uniform, of variance 1 / (2 * In): the same numbers everywhere.
inline std::vector<float> InitialWeights(int layer) {
  std::vector<float> w(static_cast<size_t>(In(layer) * Out(layer)));
  uint32_t state = 12345u + static_cast<uint32_t>(layer);
  for (float& value : w) {
    state = state * 1664525u + 1013904223u;
    const float uniform = static_cast<float>(state >> 8) / 8388608.0f - 1;
    value = uniform * std::sqrt(1.5f / static_cast<float>(In(layer)));
  }
  return w;
}
