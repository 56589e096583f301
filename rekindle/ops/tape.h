// SPDX-License-Identifier: Apache-2.0
// Reverse-mode differentiation over a list of what was computed.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rekindle/ops/context.h"
#include "rekindle/ops/parameter.h"
#include "rekindle/ops/var.h"
#include "rekindle/runtime/runtime.h"

namespace rekindle::ops {

class Gradients;

// Computes the gradients of an operator's inputs from that of its result. Runs
// at most once; what it captured is released right after.
using GradientFunction = absl::AnyInvocable<void(Gradients&)>;

// The record of one step. Make one for each step, watch parameters and compute
// on them, call Backward(), hand the gradients to an optimizer, drop it.
// Thread-compatible. Stays where it is while Vars of it are in use.
//
//   Tape tape(context);
//   Var loss = SoftmaxCrossEntropy(model(tape.Input(tokens)), targets);
//   RK_RETURN_IF_ERROR(tape.Backward(loss));
//   RK_RETURN_IF_ERROR(optimizer.Step(tape));
class Tape {
 public:
  explicit Tape(Context& context) : context_(context) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // A value through which no gradient flows, such as a batch of data.
  Var Input(Tensor value);
  // A value whose gradient is wanted. The same parameter is the same node each
  // time, so that the gradients of all its uses add up.
  Var Watch(const Parameter& parameter);
  // The same for a tensor that is nobody's parameter; each call is a new node.
  Var Watch(Tensor value);

  // Computes the gradient of `loss`, one f32 element, with respect to all that
  // is watched: runs the recorded operators backwards, letting go of what each
  // one saved as soon as it has run. Gradients of several uses of one value
  // are added in the reverse order of these uses, so the bits are always the
  // same.
  //
  // The gradient of something watched is detached as soon as it is complete:
  // all of them must be there before the first update, which takes away what
  // they could be recomputed from.
  // Errors: that of `loss`; FailedPrecondition if `loss` depends on nothing
  // watched by this tape, or if Backward() has run before; InvalidArgument for
  // a loss of another shape; the first of a gradient's calls. After an error
  // there are no gradients.
  absl::Status Backward(const Var& loss, Site site = Site::Current());

  // Whether Backward() has succeeded.
  bool has_gradients() const { return state_ == State::kDone; }

  // The gradient of something watched, in its shape. nullopt if the loss does
  // not depend on it, or if Backward() has not succeeded.
  std::optional<Tensor> Gradient(const Parameter& parameter) const;
  std::optional<Tensor> Gradient(const Var& watched) const;
  // The same, and the tape lets go of it.
  std::optional<Tensor> TakeGradient(const Parameter& parameter);

  // Number of operators recorded and not yet run backwards.
  size_t recorded_operators() const { return operators_.size(); }
  Context& context() { return context_; }

 private:
  friend class Gradients;
  friend class NamedScope;
  friend class Operator;

  enum class State { kRecording, kDone, kFailed };
  using Nodes = absl::InlinedVector<int, 4>;

  // An operator whose result is `output`. Gradients of its inputs are wanted
  // where the node is not -1.
  struct RecordedOperator {
    std::string name;
    std::string scope;
    Site site;
    Nodes inputs;
    int output = -1;
    GradientFunction gradient;
  };

  Var AddWatched(Tensor value);
  Var Record(Tensor value, RecordedOperator recorded);
  absl::Status CheckLoss(const Var& loss) const;
  absl::Status Propagate();
  absl::Status DetachComplete(const Nodes& inputs);
  absl::Status RunBackward(RecordedOperator recorded);
  std::optional<Tensor> GradientOf(int node) const;

  Context& context_;
  State state_ = State::kRecording;
  std::vector<RecordedOperator> operators_;
  // By node. Watched nodes keep their gradient after Backward().
  std::vector<std::optional<Tensor>> gradients_;
  // By node: uses by recorded operators, for watched ones; -1 for others.
  std::vector<int> watched_uses_;
  absl::flat_hash_map<const Parameter*, int> parameters_;
  std::string scope_;  // Of NamedScope: "block3/attention".
};

// What a GradientFunction works with.
class Gradients {
 public:
  // The gradient of the operator's result.
  const Tensor& dy() const { return dy_; }
  // Whether the gradient of input `i` is wanted. Others may be left out.
  bool wants(int i) const { return node(i) >= 0; }
  // Adds `gradient` to that of input `i`; ignored if it is not wanted.
  void Add(int i, Tensor gradient);
  // Gives up: Backward() returns the first such error.
  void Fail(const absl::Status& status);

  // As Runtime::Call, for gradients, with the operator's scope and place. The
  // name is the operator's with `suffix` behind it. The outputs are rather kept
  // than other tensors: each hangs on all gradients before it.
  std::vector<Tensor> Call(absl::string_view suffix, CallOptions options,
                           std::initializer_list<Tensor> inputs,
                           std::initializer_list<Spec> outputs, Kernel kernel);

  Context& context() { return tape_.context_; }

 private:
  friend class Tape;
  Gradients(Tape& tape, const Tape::RecordedOperator& recorded, Tensor dy)
      : tape_(tape), recorded_(recorded), dy_(std::move(dy)) {}

  int node(int i) const { return recorded_.inputs[static_cast<size_t>(i)]; }

  Tape& tape_;
  const Tape::RecordedOperator& recorded_;
  Tensor dy_;
  absl::Status status_;  // The first error of a gradient.
};

}  // namespace rekindle::ops
