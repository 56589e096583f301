// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/operator.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace rekindle::ops {

Operator::Operator(std::string name, std::initializer_list<Argument> arguments,
                   Site site)
    : name_(std::move(name)), arguments_(arguments), site_(site) {
  for (const Argument& argument : arguments_) {
    Require(argument.value.status());
    if (context_ == nullptr) context_ = argument.value.context_;
  }
  FindTape();
}

void Operator::FindTape() {
  for (const Argument& argument : arguments_) {
    const Var& value = argument.value;
    if (value.context_ != nullptr && value.context_ != context_) {
      Require(false, "arguments of different contexts");
    }
    if (value.tape_ == nullptr) continue;
    if (tape_ == nullptr) tape_ = value.tape_;
    Require(tape_ == value.tape_, "arguments on different tapes");
  }
  if (tape_ != nullptr && tape_->state_ != Tape::State::kRecording) {
    Require(absl::FailedPreconditionError(
        absl::StrCat(name_, ": Backward has run on this tape")));
  }
}

bool Operator::Require(bool condition, absl::string_view what) {
  if (!status_.ok() || condition) return status_.ok();
  std::string text = absl::StrCat(name_, ": ", what);
  const char* separator = ": ";
  for (const Argument& argument : arguments_) {
    absl::StrAppend(&text, separator, argument.name, " ",
                    ToString(argument.value.spec()));
    separator = ", ";
  }
  status_ = absl::InvalidArgumentError(text);
  return false;
}

bool Operator::Require(const absl::Status& status) {
  if (status_.ok()) status_ = status;
  return status_.ok();
}

Var Operator::Failed() const {
  Var var;
  var.context_ = context_;
  var.tape_ = tape_;
  var.status_ = status_;
  return var;
}

std::vector<Tensor> Operator::Call(CallOptions options,
                                   std::initializer_list<Spec> outputs,
                                   Kernel kernel) {
  options.name = name_;
  std::vector<Tensor> inputs;
  inputs.reserve(arguments_.size());
  for (const Argument& argument : arguments_) {
    inputs.push_back(argument.value.value());
  }
  return context_->runtime().Call(options, inputs, outputs, std::move(kernel),
                                  site_);
}

Var Operator::Result(Tensor value, GradientFunction gradient) {
  Tape::Nodes nodes;
  bool recorded = false;
  for (const Argument& argument : arguments_) {
    nodes.push_back(argument.value.node_);
    recorded |= argument.value.recorded();
  }
  if (!recorded) {
    Var var(*context_, std::move(value));
    var.tape_ = tape_;
    return var;
  }
  Tape::RecordedOperator entry;
  entry.name = name_;
  entry.site = site_;
  entry.inputs = std::move(nodes);
  entry.gradient = std::move(gradient);
  return tape_->Record(std::move(value), std::move(entry));
}

}  // namespace rekindle::ops
