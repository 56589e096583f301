// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/nn/gpt.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rekindle/device/host/host_device.h"
#include "rekindle/ops/cross_entropy.h"
#include "rekindle/ops/nn/adamw.h"
#include "tests/ops/ops_test_base.h"

namespace rekindle::nn {
namespace {

using ops::Context;
using ops::Tape;
using ops::Var;
using ops::reference::Floats;

constexpr int64_t kBatch = 16;
constexpr int64_t kTime = 16;
constexpr int kSteps = 10;
constexpr size_t kPlenty = 64 * kMiB;

GptOptions Tiny() {
  return {.vocabulary = 11,
          .context = kTime,
          .layers = 5,
          .heads = 4,
          .width = 28,
          .dropout = 0.1f};
}

// On small chunks, since the model is small; bytes that are free or fresh are
// overwritten, so a kernel that reads them shows.
std::unique_ptr<Runtime> SmallChunkRuntime(Budget budget) {
  auto device = HostDevice::Open({.granularity = 4 * kKiB, .poison = true});
  EXPECT_TRUE(device.ok()) << device.status();
  RuntimeOptions options;
  options.custom_device = *std::move(device);
  options.budget = budget;
  options.snapshot_directory = "";
  auto runtime = Runtime::Create(options);
  EXPECT_TRUE(runtime.ok()) << runtime.status();
  return *std::move(runtime);
}

struct Batch {
  std::vector<int32_t> tokens, targets;
};

// Count up modulo the vocabulary from a start that depends on row and step.
Batch MakeBatch(int step) {
  Batch batch;
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t t = 0; t < kTime; ++t) {
      const int64_t n = 7 * step + 5 * b + t * (1 + b % 2);
      batch.tokens.push_back(static_cast<int32_t>(n % 11));
      batch.targets.push_back(static_cast<int32_t>((n + 1 + b % 2) % 11));
    }
  }
  return batch;
}

Tensor Upload(Runtime& runtime, const std::vector<int32_t>& values) {
  return runtime.Constant(I32({kBatch, kTime}), values.data(),
                          {.kind = Kind::kInput});
}

struct Outcome {
  absl::Status status;
  Floats losses;
  std::vector<Floats> parameters;
  RuntimeStats stats;
};

absl::Status Step(Context& context, const Gpt& model, AdamW& optimizer,
                  Generator& generator, const Batch& batch, Floats& losses) {
  Runtime& runtime = context.runtime();
  absl::Status status = runtime.BeginStep();
  if (!status.ok()) return status;
  Tape tape(context);
  const Var loss = SoftmaxCrossEntropy(
      model(tape.Input(Upload(runtime, batch.tokens)), &generator),
      tape.Input(Upload(runtime, batch.targets)));
  const absl::StatusOr<Floats> value = loss.ToHost<float>();
  if (!value.ok()) return value.status();
  losses.push_back(value->front());
  status = tape.Backward(loss);
  return status.ok() ? optimizer.Step(tape) : status;
}

Outcome Train(Budget budget) {
  Outcome outcome;
  auto runtime = SmallChunkRuntime(budget);
  {
    Context context(*runtime, {1});
    Initializer initializer(context, 1);
    Gpt model(initializer, Tiny());
    AdamW optimizer(context, model.Parameters(), {.learning_rate = 1e-2f});
    Generator generator(2);
    for (int i = 0; i < kSteps && outcome.status.ok(); ++i) {
      outcome.status = Step(context, model, optimizer, generator, MakeBatch(i),
                            outcome.losses);
      runtime->CheckInvariants();
    }
    if (outcome.status.ok()) outcome.status = runtime->BeginStep();
    outcome.stats = runtime->Stats();
    for (Parameter* parameter : model.Parameters()) {
      auto values = parameter->value.ToHost<float>();
      if (values.ok()) outcome.parameters.push_back(*std::move(values));
    }
  }
  runtime->CheckInvariants();
  return outcome;
}

class GptTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    unlimited_ = std::make_unique<Outcome>(Train(Budget::Bytes(kPlenty)));
  }
  static void TearDownTestSuite() { unlimited_.reset(); }

  static std::unique_ptr<Outcome> unlimited_;
};

std::unique_ptr<Outcome> GptTest::unlimited_;

TEST_F(GptTest, Learns) {
  ASSERT_EQ(unlimited_->status, absl::OkStatus());
  ASSERT_EQ(unlimited_->losses.size(), static_cast<size_t>(kSteps));
  EXPECT_NEAR(unlimited_->losses.front(), 2.8, 0.4);  // log(11) and some
  EXPECT_LT(unlimited_->losses.back(), 1.6);
  EXPECT_EQ(unlimited_->stats.engine.evictions, 0);
  EXPECT_EQ(unlimited_->stats.engine.recomputations, 0);
}

TEST_F(GptTest, ConstantsAreAtLeast15PercentOfThePeak) {
  size_t constants = 0;
  for (size_t bytes : unlimited_->stats.engine.constant_bytes) {
    constants += bytes;
  }
  EXPECT_GE(
      static_cast<double>(constants),
      0.15 * static_cast<double>(unlimited_->stats.engine.peak_live_bytes));
}

class GptBudgetTest : public GptTest,
                      public testing::WithParamInterface<double> {};

TEST_P(GptBudgetTest, GivesTheBitsOfTheUnlimitedRunWithinTheBudget) {
  const auto budget = static_cast<size_t>(
      GetParam() *
      static_cast<double>(unlimited_->stats.engine.peak_live_bytes));
  const Outcome outcome = Train(Budget::Bytes(budget));
  ASSERT_EQ(outcome.status, absl::OkStatus());
  EXPECT_TRUE(ops::reference::SameBits(outcome.losses, unlimited_->losses));
  ASSERT_EQ(outcome.parameters.size(), unlimited_->parameters.size());
  for (size_t i = 0; i < outcome.parameters.size(); ++i) {
    EXPECT_TRUE(ops::reference::SameBits(outcome.parameters[i],
                                         unlimited_->parameters[i]))
        << "parameter " << i;
  }
  EXPECT_LE(outcome.stats.device.peak_created, budget);
  EXPECT_GT(outcome.stats.engine.recomputations, 0);
  RecordProperty("recomputations",
                 std::to_string(outcome.stats.engine.recomputations));
}

INSTANTIATE_TEST_SUITE_P(Fractions, GptBudgetTest,
                         testing::Values(0.8, 0.6, 0.4));

TEST_F(GptTest, GradientPredictsTheChangeOfTheLoss) {
  auto runtime = SmallChunkRuntime(Budget::Bytes(kPlenty));
  Context context(*runtime, {1});
  Initializer initializer(context, 1);
  Gpt model(initializer, Tiny());
  const Batch batch = MakeBatch(0);
  const auto loss_of = [&](auto& recorder) {
    return SoftmaxCrossEntropy(model(recorder(Upload(*runtime, batch.tokens))),
                               recorder(Upload(*runtime, batch.targets)));
  };
  Tape tape(context);
  const auto on_tape = [&](Tensor t) { return tape.Input(std::move(t)); };
  const auto plain = [&](Tensor t) { return Var(context, std::move(t)); };
  const Var loss = loss_of(on_tape);
  const double before = loss.ToHost<float>().value()[0];
  ASSERT_EQ(tape.Backward(loss), absl::OkStatus());

  double slope = 0;  // Of the loss along the gradient.
  const float step = 2e-3f;
  for (Parameter* parameter : model.Parameters()) {
    const std::optional<Tensor> gradient = tape.TakeGradient(*parameter);
    ASSERT_TRUE(gradient.has_value()) << parameter->name;
    const Floats g = gradient->ToHost<float>().value();
    auto guard = parameter->value.Write();
    ASSERT_TRUE(guard.ok()) << guard.status();
    for (size_t i = 0; i < g.size(); ++i) {
      guard->data<float>()[i] -= step * g[i];
      slope += static_cast<double>(g[i]) * g[i];
    }
  }
  const double after = loss_of(plain).ToHost<float>().value()[0];
  EXPECT_NEAR((before - after) / step, slope, 0.05 * slope);
}

TEST_F(GptTest, OptionsAreChecked) {
  GptOptions options = Tiny();
  EXPECT_EQ(options.Validate(), absl::OkStatus());
  options.heads = 5;
  EXPECT_EQ(options.Validate(),
            absl::InvalidArgumentError(
                "width must be a multiple of heads, but is 28 with 5"));
  options = Tiny();
  options.layers = 0;
  EXPECT_FALSE(options.Validate().ok());
  options = Tiny();
  options.dropout = 1;
  EXPECT_FALSE(options.Validate().ok());
}

}  // namespace
}  // namespace rekindle::nn
