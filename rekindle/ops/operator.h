// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rekindle/ops/context.h"
#include "rekindle/ops/tape.h"
#include "rekindle/ops/var.h"
#include "rekindle/runtime/kernel.h"
#include "rekindle/runtime/runtime.h"
#include "rekindle/runtime/site.h"

namespace rekindle::ops {

// How an operator is written, here or in a program of its own:
//
//   Var Gelu(const Var& x, Site site) {
//     Operator op("gelu", {{"x", x}}, site);
//     if (!op.Require(IsF32(x), "x must be f32")) return op.Failed();
//     Tensor y = op.Call({.flops = ...}, {x.spec()}, kernel)[0];
//     return op.Result(y, [x = x.value().Snapshot()](Gradients& g) {
//       g.Add(0, g.Call("_dx", {...}, {x, g.dy()}, {x.spec()}, ...)[0]);
//     });
//   }
//
// Save tensors for the gradient as snapshots, so that an update in place
// between does not reach them. The arguments outlive it.
class Operator {
 public:
  struct Argument {
    const char* name;
    const Var& value;
  };

  // Takes over the first error among the arguments, and finds out the context
  // and the tape, which must be the same for all of them.
  Operator(std::string name, std::initializer_list<Argument> arguments,
           Site site);

  // False if this or anything before went wrong. The error of a condition that
  // does not hold is "name: what: a f32 [2, 3], b f32 [4, 5]".
  bool Require(bool condition, absl::string_view what);
  // The same for an error that has its own words.
  bool Require(const absl::Status& status);

  // A Var that carries the error.
  Var Failed() const;

  // As Runtime::Call on all arguments. REQUIRES: nothing went wrong.
  std::vector<Tensor> Call(CallOptions options,
                           std::initializer_list<Spec> outputs, Kernel kernel);

  // `value` as the operator's result. `gradient` is called with it if a
  // gradient can flow through an argument, and dropped now if none can.
  // REQUIRES: nothing went wrong before the call.
  Var Result(Tensor value, GradientFunction gradient);

 private:
  void FindTape();

  const std::string name_;
  const absl::InlinedVector<Argument, 4> arguments_;
  const Site site_;
  Context* context_ = nullptr;
  Tape* tape_ = nullptr;
  absl::Status status_;
};

inline bool IsF32(const Var& x) { return x.spec().dtype == DType::kF32; }
inline bool IsI32(const Var& x) { return x.spec().dtype == DType::kI32; }

}  // namespace rekindle::ops
