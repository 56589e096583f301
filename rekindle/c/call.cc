// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/c/handles.h"
#include "rekindle/c/status.h"

using rekindle::c::Guarded;
using rekindle::c::Making;
using rekindle::c::NotNull;

namespace {

absl::StatusOr<std::vector<int>> Indices(const int* indices, size_t count,
                                         absl::string_view what) {
  if (count > 0) RK_RETURN_IF_ERROR(NotNull(indices, what));
  return std::vector<int>(indices, indices + count);
}

absl::StatusOr<rekindle::CallOptions> OptionsOf(const rk_call_options& from) {
  RK_RETURN_IF_ERROR(rekindle::c::CheckSize(
      from.struct_size, sizeof(rk_call_options), "RK_CALL_INIT"));
  rekindle::CallOptions to;
  if (from.name != nullptr) to.name = from.name;
  to.flops = from.flops;
  to.bytes = from.bytes;
  RK_ASSIGN_OR_RETURN(to.mutates,
                      Indices(from.mutates, from.mutate_count, "mutates"));
  RK_ASSIGN_OR_RETURN(to.effects,
                      Indices(from.effects, from.effect_count, "effects"));
  if (from.random != nullptr) to.random = &from.random->generator;
  to.workspace_bytes = from.workspace_bytes;
  to.stream = {from.stream};
  to.pure = from.impure == 0;
  RK_ASSIGN_OR_RETURN(to.keep, rekindle::c::KeepOf(from.keep));
  RK_ASSIGN_OR_RETURN(to.kind, rekindle::c::KindOf(from.kind));
  return to;
}

absl::StatusOr<std::vector<rekindle::Tensor>> InputsOf(
    const rk_tensor* const* inputs, size_t count) {
  if (count > 0) RK_RETURN_IF_ERROR(NotNull(inputs, "inputs"));
  std::vector<rekindle::Tensor> tensors;
  for (size_t i = 0; i < count; ++i) {
    RK_RETURN_IF_ERROR(NotNull(inputs[i], absl::StrCat("input ", i)));
    tensors.push_back(inputs[i]->tensor);
  }
  return tensors;
}

absl::StatusOr<std::vector<rekindle::Spec>> OutputsOf(const rk_spec* outputs,
                                                      size_t count) {
  if (count > 0) RK_RETURN_IF_ERROR(NotNull(outputs, "outputs"));
  std::vector<rekindle::Spec> specs;
  for (size_t i = 0; i < count; ++i) {
    specs.emplace_back();
    RK_ASSIGN_OR_RETURN(
        specs.back(),
        rekindle::c::SpecOf(&outputs[i], absl::StrCat("output ", i)));
  }
  return specs;
}

rekindle::Kernel KernelOf(rk_kernel kernel, std::shared_ptr<void> user,
                          size_t inputs, size_t outputs) {
  return [=, user = std::move(user)](rekindle::KernelArgs& a) {
    const rk_kernel_args args{a, inputs, outputs};
    // What the kernel says is its own; what this thread heard before stays.
    const std::string before = rk_last_error();
    rk_fail(RK_OK, nullptr);
    const rk_status status = kernel(&args, user.get());
    const absl::Status result = rekindle::c::FromC(status, rk_last_error());
    rk_fail(RK_OK, before.c_str());
    return result;
  };
}

// `made` are as many as `tensors` has room for. All or none.
void GiveAll(std::vector<rekindle::Tensor> made, rk_tensor** tensors) {
  std::vector<std::unique_ptr<rk_tensor>> handles;
  for (rekindle::Tensor& tensor : made) {
    handles.push_back(std::make_unique<rk_tensor>());
    handles.back()->tensor = std::move(tensor);
  }
  for (size_t i = 0; i < handles.size(); ++i) tensors[i] = handles[i].release();
}

}  // namespace

rk_status rk_call(rk_runtime* runtime, const rk_call_options* options,
                  const rk_tensor* const* inputs, size_t input_count,
                  const rk_spec* outputs, size_t output_count, rk_kernel kernel,
                  void* user, void (*release)(void* user),
                  rk_tensor** tensors) {
  return Guarded([&]() -> absl::Status {
    // Its end is the call of `release`, wherever this fails.
    std::shared_ptr<void> owned = rekindle::c::Owned(user, release);
    if (output_count > 0) {
      RK_RETURN_IF_ERROR(NotNull(tensors, "where the outputs go"));
      for (size_t i = 0; i < output_count; ++i) tensors[i] = nullptr;
    }
    RK_RETURN_IF_ERROR(NotNull(runtime, "the runtime"));
    if (kernel == nullptr) return absl::InvalidArgumentError("kernel is NULL");
    constexpr rk_call_options kDefaults = RK_CALL_INIT;
    const rk_call_options& given = options == nullptr ? kDefaults : *options;
    RK_ASSIGN_OR_RETURN(const rekindle::CallOptions all, OptionsOf(given));
    RK_ASSIGN_OR_RETURN(const std::vector<rekindle::Tensor> arguments,
                        InputsOf(inputs, input_count));
    RK_ASSIGN_OR_RETURN(const std::vector<rekindle::Spec> specs,
                        OutputsOf(outputs, output_count));
    const rekindle::Site site = {given.file == nullptr ? "" : given.file,
                                 given.line};
    RK_ASSIGN_OR_RETURN(
        std::vector<rekindle::Tensor> made,
        runtime->runtime->TryCall(
            all, arguments, specs,
            KernelOf(kernel, std::move(owned), input_count, output_count),
            site));
    GiveAll(std::move(made), tensors);
    return absl::OkStatus();
  });
}

rk_status rk_generator_create(uint64_t seed, rk_generator** generator) {
  return Making(generator, [&] {
    *generator = new rk_generator{rekindle::Generator(seed)};
    return absl::OkStatus();
  });
}

void rk_generator_release(rk_generator* generator) { delete generator; }

rk_status rk_generator_get(const rk_generator* generator, uint64_t* key,
                           uint64_t* draw) {
  return Guarded([&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(generator, "the generator"));
    RK_RETURN_IF_ERROR(NotNull(key, "where the key goes"));
    RK_RETURN_IF_ERROR(NotNull(draw, "where the draw goes"));
    *key = generator->generator.state().key;
    *draw = generator->generator.state().draw;
    return absl::OkStatus();
  });
}

rk_status rk_generator_set(rk_generator* generator, uint64_t key,
                           uint64_t draw) {
  return Guarded([&]() -> absl::Status {
    RK_RETURN_IF_ERROR(NotNull(generator, "the generator"));
    generator->generator.set_state({key, draw});
    return absl::OkStatus();
  });
}

const void* rk_args_input(const rk_kernel_args* args, size_t i) {
  return rk_args_inout(args, i);
}

void* rk_args_inout(const rk_kernel_args* args, size_t i) {
  if (args == nullptr || i >= args->inputs) return nullptr;
  return args->args.inout<void>(static_cast<int>(i));
}

void* rk_args_output(const rk_kernel_args* args, size_t i) {
  if (args == nullptr || i >= args->outputs) return nullptr;
  return args->args.output<void>(static_cast<int>(i));
}

void* rk_args_workspace(const rk_kernel_args* args) {
  return args == nullptr ? nullptr : args->args.workspace();
}

rk_stream rk_args_stream(const rk_kernel_args* args) {
  return args == nullptr ? 0 : args->args.stream().handle;
}

void rk_args_random(const rk_kernel_args* args, uint64_t* key, uint64_t* draw) {
  if (args == nullptr) return;
  if (key != nullptr) *key = args->args.random().key;
  if (draw != nullptr) *draw = args->args.random().draw;
}
