// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/nn/gpt.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "rekindle/ops/dropout.h"

namespace rekindle::nn {
namespace {

// Of initial weights: rows of unit length, whatever the width.
float Deviation(const GptOptions& options) {
  return 1.0f / std::sqrt(static_cast<float>(options.width));
}

std::vector<Block> MakeBlocks(Initializer& initializer,
                              const GptOptions& options) {
  BlockOptions block;
  block.width = options.width;
  block.heads = options.heads;
  block.dropout = options.dropout;
  block.deviation = Deviation(options);
  block.residual_deviation =
      block.deviation / std::sqrt(2.0f * static_cast<float>(options.layers));
  std::vector<Block> blocks;
  for (int i = 0; i < options.layers; ++i) {
    blocks.emplace_back(initializer, absl::StrCat("block", i), block);
  }
  return blocks;
}

}  // namespace

absl::Status GptOptions::Validate() const {
  if (vocabulary < 1 || context < 1 || layers < 1 || heads < 1 || width < 1) {
    return absl::InvalidArgumentError(
        "vocabulary, context, layers, heads and width must be positive");
  }
  if (width % heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "width must be a multiple of heads, but is ", width, " with ", heads));
  }
  if (!(dropout >= 0 && dropout < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dropout must be in [0, 1), but is ", dropout));
  }
  return absl::OkStatus();
}

Gpt::Gpt(Initializer& initializer, const GptOptions& options)
    : options_(options),
      embedding_(initializer, "embedding", options.vocabulary, options.context,
                 options.width, Deviation(options)),
      blocks_(MakeBlocks(initializer, options)),
      norm_(initializer, "norm", options.width) {}

ops::Var Gpt::operator()(const ops::Var& tokens, Generator* random) const {
  ops::Var x = Dropout(embedding_(tokens), options_.dropout, random);
  for (const Block& block : blocks_) x = block(x, random);
  return embedding_.Scores(norm_(x));
}

std::vector<Parameter*> Gpt::Parameters() {
  std::vector<Parameter*> parameters;
  embedding_.AppendParameters(parameters);
  for (Block& block : blocks_) block.AppendParameters(parameters);
  norm_.AppendParameters(parameters);
  return parameters;
}

}  // namespace rekindle::nn
