// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/adamw.h"

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"

namespace rekindle::ops {
namespace {

constexpr double kFlops = 16;  // Of an element.

absl::Status CheckShapes(const Tensor& gradient, const AdamWTensors& tensors) {
  for (const Tensor* tensor : {&gradient, &tensors.m, &tensors.v}) {
    RK_RETURN_IF_ERROR(tensor->status());
    if (tensor->spec() == tensors.parameter.spec()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "adamw: shapes differ: parameter ", ToString(tensors.parameter.spec()),
        ", gradient ", ToString(gradient.spec()), ", m ",
        ToString(tensors.m.spec()), ", v ", ToString(tensors.v.spec())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AdamWUpdate(Context& context, const AdamWOptions& options,
                         int64_t step, const Tensor& gradient,
                         const AdamWTensors& tensors, Site site) {
  RK_RETURN_IF_ERROR(tensors.parameter.status());
  RK_RETURN_IF_ERROR(CheckShapes(gradient, tensors));
  const int64_t count = gradient.elements();
  CallOptions call;
  call.name = "adamw";
  call.flops = kFlops * static_cast<double>(count);
  call.mutates = {1, 2, 3};
  context.runtime().Call(
      call, {gradient, tensors.parameter, tensors.m, tensors.v}, {},
      [options, step, count, threads = context.threads()](KernelArgs& a) {
        host::AdamW(threads, count, options, step, a.input<float>(0),
                    a.inout<float>(1), a.inout<float>(2), a.inout<float>(3));
        return absl::OkStatus();
      },
      site);
  return absl::OkStatus();
}

}  // namespace rekindle::ops
