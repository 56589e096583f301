// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "rekindle/ops/nn/block.h"
#include "rekindle/ops/nn/embedding.h"
#include "rekindle/ops/nn/initializer.h"
#include "rekindle/ops/nn/layer_norm.h"
#include "rekindle/ops/var.h"
#include "rekindle/runtime/generator.h"

namespace rekindle::nn {

struct GptOptions {
  int64_t vocabulary = 256;
  int64_t context = 64;  // Most tokens it can look at.
  int layers = 2;
  int heads = 2;
  int64_t width = 64;
  float dropout = 0;

  // InvalidArgument unless all are positive, heads divide width, and dropout
  // is in [0, 1).
  absl::Status Validate() const;
};

// A language model in the form of GPT-2: learned positions, norms in front,
// token table shared by input and output. Source: Radford et al., "Language
// models are unsupervised multitask learners", 2019. Initial weights have the
// deviation 1 / sqrt(width), those in front of residual sums less than that by
// sqrt(2 layers).
class Gpt {
 public:
  // REQUIRES: options.Validate() is OK.
  Gpt(Initializer& initializer, const GptOptions& options);
  Gpt(const Gpt&) = delete;
  Gpt& operator=(const Gpt&) = delete;

  // tokens i32 [b, t] -> logits f32 [b, t, vocabulary], the scores of the token
  // that follows each place. Drops out from `random` if it is not null: the
  // gradient and any recomputation drop the same elements.
  ops::Var operator()(const ops::Var& tokens,
                      Generator* random = nullptr) const;

  // In a fixed order. They stay where they are as long as the model lives.
  std::vector<Parameter*> Parameters();
  const GptOptions& options() const { return options_; }

 private:
  const GptOptions options_;
  Embedding embedding_;
  std::vector<Block> blocks_;
  LayerNorm norm_;
};

}  // namespace rekindle::nn
