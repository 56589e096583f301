// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/tape.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/ops/host/elementwise.h"

namespace rekindle::ops {
namespace {

// The gradient of the loss with respect to itself: 1.
Tensor One(Context& context, const Spec& spec, Site site) {
  CallOptions options{.name = "loss_gradient", .kind = Kind::kGradient};
  return context.runtime().Call(
      options, {}, {spec},
      [threads = context.threads()](KernelArgs& a) {
        host::Fill(threads, 1, 1.0f, a.output<float>(0));
        return absl::OkStatus();
      },
      site)[0];
}

}  // namespace

Var Tape::Input(Tensor value) {
  Var var(context_, std::move(value));
  var.tape_ = this;
  return var;
}

Var Tape::Watch(const Parameter& parameter) {
  const auto known = parameters_.find(&parameter);
  if (known == parameters_.end()) {
    Var var = AddWatched(parameter.value);
    parameters_.emplace(&parameter, var.node_);
    return var;
  }
  Var var = Input(parameter.value);
  var.node_ = known->second;
  return var;
}

Var Tape::Watch(Tensor value) { return AddWatched(std::move(value)); }

Var Tape::AddWatched(Tensor value) {
  Var var = Input(std::move(value));
  var.node_ = static_cast<int>(gradients_.size());
  gradients_.emplace_back();
  watched_uses_.push_back(0);
  return var;
}

Var Tape::Record(Tensor value, RecordedOperator recorded) {
  Var var = Input(std::move(value));
  var.node_ = static_cast<int>(gradients_.size());
  gradients_.emplace_back();
  watched_uses_.push_back(-1);
  for (int node : recorded.inputs) {
    if (node < 0) continue;
    int& uses = watched_uses_[static_cast<size_t>(node)];
    if (uses >= 0) ++uses;
  }
  recorded.output = var.node_;
  recorded.scope = scope_;
  operators_.push_back(std::move(recorded));
  return var;
}

absl::Status Tape::CheckLoss(const Var& loss) const {
  if (state_ != State::kRecording) {
    return absl::FailedPreconditionError(
        "Backward: has run on this tape before, and what it needed is gone; "
        "record the step again on a new tape");
  }
  RK_RETURN_IF_ERROR(loss.status());
  if (loss.tape_ != this || !loss.recorded()) {
    return absl::FailedPreconditionError(
        "Backward: the loss depends on nothing that this tape watches");
  }
  if (loss.spec().dtype != DType::kF32 || loss.spec().elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Backward: the loss must be one f32 element, but is ",
                     ToString(loss.spec())));
  }
  return absl::OkStatus();
}

absl::Status Tape::Backward(const Var& loss, Site site) {
  RK_RETURN_IF_ERROR(CheckLoss(loss));
  Tensor one = One(context_, loss.spec(), site);
  absl::Status status = one.status();
  gradients_[static_cast<size_t>(loss.node_)] = std::move(one);
  if (status.ok()) status = Propagate();
  operators_.clear();
  if (!status.ok()) gradients_.assign(gradients_.size(), std::nullopt);
  state_ = status.ok() ? State::kDone : State::kFailed;
  return status;
}

absl::Status Tape::Propagate() {
  while (!operators_.empty()) {
    RecordedOperator recorded = std::move(operators_.back());
    operators_.pop_back();
    const Nodes inputs = recorded.inputs;
    RK_RETURN_IF_ERROR(RunBackward(std::move(recorded)));
    RK_RETURN_IF_ERROR(DetachComplete(inputs));
  }
  return absl::OkStatus();
}

absl::Status Tape::DetachComplete(const Nodes& inputs) {
  for (int node : inputs) {
    if (node < 0) continue;
    const auto index = static_cast<size_t>(node);
    if (watched_uses_[index] < 0 || --watched_uses_[index] > 0) continue;
    std::optional<Tensor>& gradient = gradients_[index];
    if (gradient.has_value()) RK_RETURN_IF_ERROR(gradient->Detach());
  }
  return absl::OkStatus();
}

absl::Status Tape::RunBackward(RecordedOperator recorded) {
  std::optional<Tensor>& slot =
      gradients_[static_cast<size_t>(recorded.output)];
  if (!slot.has_value()) return absl::OkStatus();  // The loss is not after it.
  Gradients gradients(*this, recorded, *std::move(slot));
  slot.reset();
  std::optional<Scope> scope;
  if (!recorded.scope.empty()) {
    scope.emplace(context_.runtime(), recorded.scope);
  }
  recorded.gradient(gradients);
  return gradients.status_;
}

std::optional<Tensor> Tape::GradientOf(int node) const {
  if (state_ != State::kDone || node < 0) return std::nullopt;
  return gradients_[static_cast<size_t>(node)];
}

std::optional<Tensor> Tape::Gradient(const Parameter& parameter) const {
  const auto known = parameters_.find(&parameter);
  return known == parameters_.end() ? std::nullopt : GradientOf(known->second);
}

std::optional<Tensor> Tape::Gradient(const Var& watched) const {
  return watched.tape_ == this ? GradientOf(watched.node_) : std::nullopt;
}

std::optional<Tensor> Tape::TakeGradient(const Parameter& parameter) {
  std::optional<Tensor> gradient = Gradient(parameter);
  if (gradient.has_value()) {
    gradients_[static_cast<size_t>(parameters_[&parameter])].reset();
  }
  return gradient;
}

void Gradients::Add(int i, Tensor gradient) {
  if (!wants(i)) return;
  Fail(gradient.status());
  if (!status_.ok()) return;
  std::optional<Tensor>& sum = tape_.gradients_[static_cast<size_t>(node(i))];
  if (!sum.has_value()) {
    sum = std::move(gradient);
    return;
  }
  const int64_t count = gradient.elements();
  sum = Call("_sum", {.flops = static_cast<double>(count)}, {*sum, gradient},
             {gradient.spec()},
             [threads = context().threads(), count](KernelArgs& a) {
               host::Add(threads, count, a.input<float>(0), a.input<float>(1),
                         a.output<float>(0));
               return absl::OkStatus();
             })[0];
  Fail(sum->status());
}

void Gradients::Fail(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

std::vector<Tensor> Gradients::Call(absl::string_view suffix,
                                    CallOptions options,
                                    std::initializer_list<Tensor> inputs,
                                    std::initializer_list<Spec> outputs,
                                    Kernel kernel) {
  options.name = absl::StrCat(recorded_.name, suffix);
  options.kind = Kind::kGradient;
  options.keep = Keep::kRatherNot;
  return context().runtime().Call(options, inputs, outputs, std::move(kernel),
                                  recorded_.site);
}

}  // namespace rekindle::ops
