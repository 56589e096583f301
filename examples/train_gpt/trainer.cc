// SPDX-License-Identifier: Apache-2.0
#include "examples/train_gpt/trainer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "rekindle/base/status_macros.h"
#include "rekindle/ops/cross_entropy.h"
#include "rekindle/ops/tape.h"

namespace train_gpt {
namespace {

using rekindle::I32;
using rekindle::Kind;
using rekindle::Tensor;
using rekindle::nn::GptOptions;
using rekindle::ops::Tape;
using rekindle::ops::Var;

constexpr float kTemperature = 0.7f;

rekindle::ops::host::HostThreads Threads(const Flags& flags) {
  if (flags.threads > 0) return {flags.threads};
  return rekindle::ops::host::MaxHostThreads();
}

GptOptions ModelOptions(const Corpus& corpus, const Flags& flags) {
  return {.vocabulary = corpus.vocabulary(),
          .context = flags.context,
          .layers = flags.layers,
          .heads = flags.heads,
          .width = flags.width,
          .dropout = flags.dropout};
}

// Chooses a token with probability softmax(scores / temperature).
int32_t Choose(const std::vector<float>& scores, std::mt19937_64& random) {
  const float most = *std::max_element(scores.begin(), scores.end());
  std::vector<double> weights;
  double sum = 0;
  for (float score : scores) {
    weights.push_back(std::exp((score - most) / kTemperature));
    sum += weights.back();
  }
  double left = sum * static_cast<double>(random() >> 11) * 0x1p-53;
  size_t token = 0;
  while (token + 1 < weights.size() && (left -= weights[token]) >= 0) ++token;
  return static_cast<int32_t>(token);
}

}  // namespace

Trainer::Trainer(rekindle::Runtime& runtime, const Corpus& corpus,
                 const Flags& flags)
    : runtime_(runtime),
      corpus_(corpus),
      flags_(flags),
      context_(runtime, Threads(flags)),
      initializer_(context_, flags.seed),
      model_(initializer_, ModelOptions(corpus, flags)),
      optimizer_(context_, model_.Parameters(),
                 {.beta2 = 0.99f, .weight_decay = 0.1f}),
      dropout_(flags.seed + 1),
      batches_(flags.seed + 2) {}

absl::StatusOr<float> Trainer::Step() {
  RK_RETURN_IF_ERROR(runtime_.BeginStep());
  return TrainOn(corpus_.Draw(flags_.batch, flags_.context, batches_));
}

absl::StatusOr<float> Trainer::TrainOn(const Corpus::Batch& batch) {
  Tape tape(context_);
  RK_ASSIGN_OR_RETURN(const float loss, Differentiate(tape, batch));
  optimizer_.set_learning_rate(LearningRate());
  RK_RETURN_IF_ERROR(optimizer_.Step(tape));
  return loss;
}

absl::StatusOr<float> Trainer::Differentiate(Tape& tape,
                                             const Corpus::Batch& batch) {
  const Var tokens = tape.Input(Upload(batch.tokens, flags_.batch));
  const Var targets = tape.Input(Upload(batch.targets, flags_.batch));
  const Var loss = SoftmaxCrossEntropy(model_(tokens, &dropout_), targets);
  RK_ASSIGN_OR_RETURN(const std::vector<float> value, loss.ToHost<float>());
  RK_RETURN_IF_ERROR(tape.Backward(loss));
  return value.front();
}

Tensor Trainer::Upload(const std::vector<int32_t>& values, int rows) {
  const auto length = static_cast<int64_t>(values.size()) / rows;
  return runtime_.Constant(I32({rows, length}), values.data(),
                           {.name = "tokens", .kind = Kind::kInput});
}

// Up in a straight line, then down a half cosine to a tenth.
float Trainer::LearningRate() const {
  constexpr double kWarmup = 20;
  const auto step = static_cast<double>(optimizer_.steps());
  const double up = std::min(1.0, (step + 1) / kWarmup);
  const double down =
      0.55 + 0.45 * std::cos(std::numbers::pi * step / flags_.steps);
  return static_cast<float>(flags_.learning_rate * up * down);
}

absl::StatusOr<std::vector<float>> Trainer::NextScores(
    const std::vector<int32_t>& tokens) {
  const Var logits = model_(Var(context_, Upload(tokens, 1)));
  RK_ASSIGN_OR_RETURN(std::vector<float> scores, logits.ToHost<float>());
  return std::vector<float>(scores.end() - corpus_.vocabulary(), scores.end());
}

absl::StatusOr<std::string> Trainer::Write(int characters) {
  std::mt19937_64 random(flags_.seed + 3);
  std::vector<int32_t> tokens = corpus_.Excerpt(flags_.context);
  std::string text;
  for (int i = 0; i < characters; ++i) {
    RK_RETURN_IF_ERROR(runtime_.BeginStep());
    RK_ASSIGN_OR_RETURN(const std::vector<float> scores, NextScores(tokens));
    tokens.push_back(Choose(scores, random));
    text.push_back(corpus_.Decode(tokens.back()));
    tokens.erase(tokens.begin());
  }
  return text;
}

int64_t Trainer::parameters() {
  int64_t count = 0;
  for (const auto* parameter : model_.Parameters()) {
    count += parameter->value.elements();
  }
  return count;
}

}  // namespace train_gpt
