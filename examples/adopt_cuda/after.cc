// SPDX-License-Identifier: Apache-2.0
// The program after: the same kernels, and Rekindle says where tensors live.
// REKINDLE_BUDGET says how much memory they may take. Prints what the program
// before prints, and what was recomputed.
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "examples/adopt_cuda/kernels.h"
#include "examples/adopt_cuda/task.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/rekindle.h"
#ifdef __CUDACC__
#include "rekindle/device/cuda/cuda_device.h"
#endif

namespace {

using rekindle::F32;
using rekindle::I32;
using rekindle::KernelArgs;
using rekindle::Kind;
using rekindle::Runtime;
using rekindle::RuntimeOptions;
using rekindle::Tensor;

cudaStream_t StreamOf(const KernelArgs& a) {
  return reinterpret_cast<cudaStream_t>(a.stream().handle);
}

absl::Status LaunchStatus() {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(cudaGetErrorString(error));
}

struct Layer {
  Tensor w;
  Tensor b;
  Tensor z;  // what its Linear makes
  Tensor h;  // what it hands on
};

Layer MakeLayer(Runtime& rt, int l) {
  Layer layer;
  layer.w = rt.Constant(F32({In(l), Out(l)}), InitialWeights(l).data(),
                        {.name = "w", .kind = Kind::kParameter});
  layer.b = rt.Constant(F32({Out(l)}), nullptr,
                        {.name = "b", .kind = Kind::kParameter});
  return layer;
}

struct Network {
  std::vector<Layer> layers;
  Tensor x;
  Tensor labels;
  Tensor dlogits;
};

double Flops(int l) { return 2.0 * kRows * In(l) * Out(l); }

Tensor CallLinear(Runtime& rt, int l, const Tensor& x, const Layer& layer) {
  return rt.Call({.name = "linear", .flops = Flops(l)}, {x, layer.w, layer.b},
                 {F32({kRows, Out(l)})}, [l](KernelArgs& a) {
                   ADOPT_LAUNCH(Linear, kRows * Out(l), StreamOf(a),
                                a.input<float>(0), a.input<float>(1),
                                a.input<float>(2), a.output<float>(0), kRows,
                                In(l), Out(l));
                   return LaunchStatus();
                 })[0];
}

Tensor CallAddRelu(Runtime& rt, const Tensor& x, const Tensor& z) {
  constexpr int n = kRows * kWidth;
  return rt.Call({.name = "add_relu"}, {x, z}, {F32({kRows, kWidth})},
                 [](KernelArgs& a) {
                   ADOPT_LAUNCH(AddRelu, n, StreamOf(a), a.input<float>(0),
                                a.input<float>(1), a.output<float>(0), n);
                   return LaunchStatus();
                 })[0];
}

// Returns the mean loss.
Tensor Forward(Runtime& rt, Network& net) {
  Tensor x = net.x;
  for (int l = 0; l < kLayers; ++l) {
    Layer& layer = net.layers[static_cast<size_t>(l)];
    const bool block = l > 0 && l < kLayers - 1;
    layer.z = CallLinear(rt, l, x, layer);
    layer.h = block ? CallAddRelu(rt, x, layer.z) : layer.z;
    x = layer.h;
  }
  const std::vector<Tensor> outputs =
      rt.Call({.name = "softmax_loss"}, {x, net.labels},
              {F32({kRows}), F32({kRows, kClasses})}, [](KernelArgs& a) {
                ADOPT_LAUNCH(SoftmaxLoss, kRows, StreamOf(a), a.input<float>(0),
                             a.input<int>(1), a.output<float>(0),
                             a.output<float>(1), kRows, kClasses);
                return LaunchStatus();
              });
  net.dlogits = outputs[1];
  return rt.Call({.name = "mean"}, {outputs[0]}, {F32({1})}, [](KernelArgs& a) {
    ADOPT_LAUNCH(Mean, 1, StreamOf(a), a.input<float>(0), a.output<float>(0),
                 kRows);
    return LaunchStatus();
  })[0];
}

Tensor CallReluBackward(Runtime& rt, const Tensor& dy, const Tensor& z) {
  constexpr int n = kRows * kWidth;
  return rt.Call({.name = "relu_backward", .kind = Kind::kGradient}, {dy, z},
                 {F32({kRows, kWidth})}, [](KernelArgs& a) {
                   ADOPT_LAUNCH(ReluBackward, n, StreamOf(a), a.input<float>(0),
                                a.input<float>(1), a.output<float>(0), n);
                   return LaunchStatus();
                 })[0];
}

// `skip` says whether the third input, dy, is added.
Tensor CallLinearBackward(Runtime& rt, int l, const Tensor& dz, const Tensor& w,
                          const Tensor& dy, bool skip) {
  return rt.Call(
      {.name = "linear_backward", .flops = Flops(l), .kind = Kind::kGradient},
      {dz, w, dy}, {F32({kRows, In(l)})}, [l, skip](KernelArgs& a) {
        ADOPT_LAUNCH(LinearBackward, kRows * In(l), StreamOf(a),
                     a.input<float>(0), a.input<float>(1),
                     skip ? a.input<float>(2) : nullptr, a.output<float>(0),
                     kRows, In(l), Out(l));
        return LaunchStatus();
      })[0];
}

std::vector<Tensor> CallParameterGradients(Runtime& rt, int l, const Tensor& x,
                                           const Tensor& dz) {
  return rt.Call(
      {.name = "gradients", .flops = Flops(l), .kind = Kind::kGradient},
      {x, dz}, {F32({In(l), Out(l)}), F32({Out(l)})}, [l](KernelArgs& a) {
        ADOPT_LAUNCH(ParameterGradients, (In(l) + 1) * Out(l), StreamOf(a),
                     a.input<float>(0), a.input<float>(1), a.output<float>(0),
                     a.output<float>(1), kRows, In(l), Out(l));
        return LaunchStatus();
      });
}

// An update in place: Rekindle makes safe what still needs the old weights.
void CallSgd(Runtime& rt, const Tensor& w, const Tensor& dw) {
  const int n = static_cast<int>(w.elements());
  rt.Call({.name = "sgd", .mutates = {0}}, {w, dw}, {}, [n](KernelArgs& a) {
    ADOPT_LAUNCH(Sgd, n, StreamOf(a), a.inout<float>(0), a.input<float>(1),
                 kRate, n);
    return LaunchStatus();
  });
}

// Handles are dropped as soon as the program is done with the values.
void Backward(Runtime& rt, Network& net) {
  Tensor dy = std::move(net.dlogits);
  for (int l = kLayers - 1; l >= 0; --l) {
    Layer& layer = net.layers[static_cast<size_t>(l)];
    const Tensor x = l == 0 ? net.x : net.layers[static_cast<size_t>(l - 1)].h;
    const bool block = l > 0 && l < kLayers - 1;
    const Tensor dz = block ? CallReluBackward(rt, dy, layer.z) : dy;
    layer.z = layer.h = Tensor();
    const std::vector<Tensor> d = CallParameterGradients(rt, l, x, dz);
    if (l > 0) dy = CallLinearBackward(rt, l, dz, layer.w, dy, block);
    CallSgd(rt, layer.w, d[0]);
    CallSgd(rt, layer.b, d[1]);
  }
}

absl::Status Train(Runtime& rt) {
  const Points points = Spirals();
  Network net;
  net.x = rt.Constant(F32({kRows, kInputs}), points.x.data(),
                      {.name = "x", .kind = Kind::kInput});
  net.labels = rt.Constant(I32({kRows}), points.labels.data(),
                           {.name = "labels", .kind = Kind::kInput});
  for (int l = 0; l < kLayers; ++l) net.layers.push_back(MakeLayer(rt, l));
  for (int step = 1; step <= kSteps; ++step) {
    RK_RETURN_IF_ERROR(rt.BeginStep());
    const Tensor mean = Forward(rt, net);
    Backward(rt, net);
    RK_ASSIGN_OR_RETURN(const std::vector<float> loss, mean.ToHost<float>());
    std::printf("step %d loss %a (%g)\n", step, static_cast<double>(loss[0]),
                static_cast<double>(loss[0]));
  }
  return rt.BeginStep();  // the first error of the last step
}

absl::Status Run() {
  RK_ASSIGN_OR_RETURN(RuntimeOptions options,
                      RuntimeOptions::FromEnvironment());
#ifdef __CUDACC__
  RK_ASSIGN_OR_RETURN(options.custom_device, rekindle::OpenCudaDevice(0));
#else
  options.device = "host";
#endif
  RK_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> rt,
                      Runtime::Create(options));
  RK_RETURN_IF_ERROR(Train(*rt));
  const rekindle::RuntimeStats stats = rt->Stats();
  std::printf("peak %zu bytes\nevictions %lld, recomputations %lld\n",
              stats.device.peak_created,
              static_cast<long long>(stats.engine.evictions),
              static_cast<long long>(stats.engine.recomputations));
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (status.ok()) return 0;
  std::fprintf(stderr, "after: %s\n", status.ToString().c_str());
  return 1;
}
