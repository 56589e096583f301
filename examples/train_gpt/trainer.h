// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/train_gpt/corpus.h"
#include "examples/train_gpt/flags.h"
#include "rekindle/ops/context.h"
#include "rekindle/ops/nn/adamw.h"
#include "rekindle/ops/nn/gpt.h"
#include "rekindle/ops/tape.h"
#include "rekindle/runtime/generator.h"
#include "rekindle/runtime/runtime.h"

namespace train_gpt {

// One model in training on one runtime. The same flags give the same bits,
// whatever the budget.
class Trainer {
 public:
  // Both outlive it. Memory errors show in the first Step().
  Trainer(rekindle::Runtime& runtime, const Corpus& corpus, const Flags& flags);

  // Trains on one batch; the loss on it, before the update.
  absl::StatusOr<float> Step();
  // Ends the last step: its error, if there was one.
  absl::Status Finish() { return runtime_.BeginStep(); }

  // Goes on writing from the middle of the corpus.
  absl::StatusOr<std::string> Write(int characters);

  int64_t parameters();

 private:
  absl::StatusOr<float> TrainOn(const Corpus::Batch& batch);
  absl::StatusOr<float> Differentiate(rekindle::ops::Tape& tape,
                                      const Corpus::Batch& batch);
  rekindle::Tensor Upload(const std::vector<int32_t>& values, int rows);
  absl::StatusOr<std::vector<float>> NextScores(
      const std::vector<int32_t>& tokens);
  float LearningRate() const;

  rekindle::Runtime& runtime_;
  const Corpus& corpus_;
  const Flags flags_;
  rekindle::ops::Context context_;
  rekindle::nn::Initializer initializer_;
  rekindle::nn::Gpt model_;
  rekindle::nn::AdamW optimizer_;
  rekindle::Generator dropout_;
  std::mt19937_64 batches_;
};

}  // namespace train_gpt
