// SPDX-License-Identifier: Apache-2.0
// The program before: it allocates all that it needs at the start, activations
// for every layer, gradients in buffers that the layers take in turn.
// Prints the loss of each step with all its bits, and the bytes it took.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/adopt_cuda/kernels.h"
#include "examples/adopt_cuda/task.h"

namespace {

size_t allocated_bytes = 0;
std::vector<void*> allocations;

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "before: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

template <typename T>
T* Allocate(int n) {
  void* address = nullptr;
  const size_t bytes = static_cast<size_t>(n) * sizeof(T);
  Check(cudaMalloc(&address, bytes));
  allocated_bytes += bytes;
  allocations.push_back(address);
  return static_cast<T*>(address);
}

template <typename T>
T* Copy(const std::vector<T>& values) {
  T* const x = Allocate<T>(static_cast<int>(values.size()));
  Check(cudaMemcpy(x, values.data(), values.size() * sizeof(T),
                   cudaMemcpyHostToDevice));
  return x;
}

struct Layer {
  float* w;
  float* b;
  float* dw;
  float* db;
  float* z;  // what its Linear makes
  float* h;  // what it hands on
};

Layer MakeLayer(int l) {
  const int in = In(l), out = Out(l);
  Layer layer = {};
  layer.w = Copy(InitialWeights(l));
  layer.b = Copy(std::vector<float>(static_cast<size_t>(out), 0));
  layer.dw = Allocate<float>(in * out);
  layer.db = Allocate<float>(out);
  layer.z = Allocate<float>(kRows * out);
  const bool block = l > 0 && l < kLayers - 1;
  layer.h = block ? Allocate<float>(kRows * out) : layer.z;
  return layer;
}

struct Network {
  std::vector<Layer> layers;
  float* x;
  int* labels;
  float* losses;
  float* loss;
  float* dlogits;
  float* dz;     // gradient of one layer's z
  float* dx[2];  // of what came into a layer: odd and even ones
};

void Forward(Network& net) {
  const float* x = net.x;
  for (int l = 0; l < kLayers; ++l) {
    Layer& layer = net.layers[static_cast<size_t>(l)];
    const int n = kRows * Out(l);
    ADOPT_LAUNCH(Linear, n, nullptr, x, layer.w, layer.b, layer.z, kRows, In(l),
                 Out(l));
    if (layer.h != layer.z) {
      ADOPT_LAUNCH(AddRelu, n, nullptr, x, layer.z, layer.h, n);
    }
    x = layer.h;
  }
  ADOPT_LAUNCH(SoftmaxLoss, kRows, nullptr, x, net.labels, net.losses,
               net.dlogits, kRows, kClasses);
  ADOPT_LAUNCH(Mean, 1, nullptr, net.losses, net.loss, kRows);
}

void Backward(Network& net) {
  const float* dy = net.dlogits;
  for (int l = kLayers - 1; l >= 0; --l) {
    Layer& layer = net.layers[static_cast<size_t>(l)];
    const float* x = l == 0 ? net.x : net.layers[static_cast<size_t>(l - 1)].h;
    const int in = In(l), out = Out(l), n = kRows * out;
    const bool block = layer.h != layer.z;
    const float* dz = dy;
    float* const dx = net.dx[l % 2];
    if (block) {
      ADOPT_LAUNCH(ReluBackward, n, nullptr, dy, layer.z, net.dz, n);
      dz = net.dz;
    }
    ADOPT_LAUNCH(ParameterGradients, (in + 1) * out, nullptr, x, dz, layer.dw,
                 layer.db, kRows, in, out);
    if (l > 0) {
      const float* skip = block ? dy : nullptr;
      ADOPT_LAUNCH(LinearBackward, kRows * in, nullptr, dz, layer.w, skip, dx,
                   kRows, in, out);
    }
    dy = dx;
    ADOPT_LAUNCH(Sgd, in * out, nullptr, layer.w, layer.dw, kRate, in * out);
    ADOPT_LAUNCH(Sgd, out, nullptr, layer.b, layer.db, kRate, out);
  }
}

}  // namespace

int main() {
  const Points points = Spirals();
  Network net = {};
  net.x = Copy(points.x);
  net.labels = Copy(points.labels);
  net.losses = Allocate<float>(kRows);
  net.loss = Allocate<float>(1);
  net.dlogits = Allocate<float>(kRows * kClasses);
  net.dz = Allocate<float>(kRows * kWidth);
  for (float*& dx : net.dx) dx = Allocate<float>(kRows * kWidth);
  for (int l = 0; l < kLayers; ++l) net.layers.push_back(MakeLayer(l));
  for (int step = 1; step <= kSteps; ++step) {
    Forward(net);
    Backward(net);
    Check(cudaGetLastError());
    float loss = 0;
    Check(cudaMemcpy(&loss, net.loss, sizeof(loss), cudaMemcpyDeviceToHost));
    std::printf("step %d loss %a (%g)\n", step, static_cast<double>(loss),
                static_cast<double>(loss));
  }
  std::printf("peak %zu bytes\n", allocated_bytes);
  for (void* address : allocations) Check(cudaFree(address));
}
