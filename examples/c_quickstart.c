/* SPDX-License-Identifier: Apache-2.0 */
/* Trains in C: a chain of layers, forward and backward, in the memory of a
   quarter of its activations. The weights are updated in place. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "rekindle/c.h"

enum { kElements = 1 << 18, kLayers = 16, kSteps = 5 };

/* Every error ends the program here, with its reason. */
static void check(rk_status status) {
  if (status == RK_OK) return;
  fprintf(stderr, "c_quickstart: %s\n", rk_last_error());
  exit(1);
}

/* y = x + w * x^2 / 10 */
static rk_status forward(const rk_kernel_args* args, void* user) {
  const float* x = rk_args_input(args, 0);
  const float* w = rk_args_input(args, 1);
  float* y = rk_args_output(args, 0);
  int i;
  (void)user;
  for (i = 0; i < kElements; ++i) y[i] = x[i] + 0.1f * w[0] * x[i] * x[i];
  return RK_OK;
}

/* Gradients of both, given that of y. */
static rk_status backward(const rk_kernel_args* args, void* user) {
  const float* x = rk_args_input(args, 0);
  const float* w = rk_args_input(args, 1);
  const float* dy = rk_args_input(args, 2);
  float* dx = rk_args_output(args, 0);
  float* dw = rk_args_output(args, 1);
  double sum = 0;
  int i;
  (void)user;
  for (i = 0; i < kElements; ++i) {
    dx[i] = dy[i] * (1 + 0.2f * w[0] * x[i]);
    sum += dy[i] * 0.1f * x[i] * x[i];
  }
  dw[0] = (float)(sum / kElements);
  return RK_OK;
}

/* y - 1: of the mean of (y - 1)^2 / 2. */
static rk_status loss_gradient(const rk_kernel_args* args, void* user) {
  const float* y = rk_args_input(args, 0);
  float* dy = rk_args_output(args, 0);
  int i;
  (void)user;
  for (i = 0; i < kElements; ++i) dy[i] = y[i] - 1;
  return RK_OK;
}

/* w -= rate * dw; the rate is the kernel's own. */
static rk_status descend(const rk_kernel_args* args, void* user) {
  float* w = rk_args_inout(args, 0);
  const float* dw = rk_args_input(args, 1);
  w[0] -= *(const float*)user * dw[0];
  return RK_OK;
}

static rk_tensor* call_forward(rk_runtime* rt, const rk_tensor* x,
                               const rk_tensor* w, const rk_spec* values) {
  rk_call_options options = RK_CALL_INIT;
  const rk_tensor* inputs[2];
  rk_tensor* y;
  options.name = "forward";
  inputs[0] = x;
  inputs[1] = w;
  check(rk_call(rt, &options, inputs, 2, values, 1, forward, NULL, NULL, &y));
  return y;
}

/* Takes the layer's input and the gradient of its output, gives back that of
   its input, and updates the weight. */
static rk_tensor* call_backward(rk_runtime* rt, rk_tensor* x, rk_tensor* w,
                                rk_tensor* dy, const rk_spec* values,
                                const rk_spec* scalar, float* rate) {
  static const int kFirst[] = {0};
  rk_call_options options = RK_CALL_INIT;
  rk_call_options update = RK_CALL_INIT;
  const rk_tensor* inputs[3];
  rk_tensor* gradients[2];
  rk_spec specs[2];
  options.name = "backward";
  options.kind = RK_GRADIENT;
  inputs[0] = x;
  inputs[1] = w;
  inputs[2] = dy;
  specs[0] = *values;
  specs[1] = *scalar;
  check(rk_call(rt, &options, inputs, 3, specs, 2, backward, NULL, NULL,
                gradients));
  update.name = "descend";
  update.mutates = kFirst;
  update.mutate_count = 1;
  inputs[0] = w;
  inputs[1] = gradients[1];
  check(rk_call(rt, &update, inputs, 2, NULL, 0, descend, rate, NULL, NULL));
  rk_tensor_release(gradients[1]);
  rk_tensor_release(x);
  rk_tensor_release(dy);
  return gradients[0];
}

static void train_step(rk_runtime* rt, rk_tensor** weights, const float* data,
                       const rk_spec* values, const rk_spec* scalar,
                       float* rate) {
  rk_tensor* x[kLayers + 1];
  const rk_tensor* last;
  rk_tensor* gradient;
  int layer;
  check(rk_begin_step(rt));
  check(rk_constant(rt, values, data, "data", RK_INPUT, &x[0]));
  for (layer = 0; layer < kLayers; ++layer) {
    x[layer + 1] = call_forward(rt, x[layer], weights[layer], values);
  }
  last = x[kLayers];
  check(rk_call(rt, NULL, &last, 1, values, 1, loss_gradient, NULL, NULL,
                &gradient));
  rk_tensor_release(x[kLayers]);
  for (layer = kLayers - 1; layer >= 0; --layer) {
    gradient = call_backward(rt, x[layer], weights[layer], gradient, values,
                             scalar, rate);
  }
  rk_tensor_release(gradient);
}

int main(void) {
  static const int64_t kShape[] = {kElements};
  const rk_spec values = {RK_F32, 1, kShape};
  const rk_spec scalar = {RK_F32, 0, NULL};
  rk_options options = RK_OPTIONS_INIT;
  rk_stats stats = RK_STATS_INIT;
  rk_runtime* rt;
  rk_tensor* weights[kLayers];
  float* data = malloc(kElements * sizeof(float));
  float rate = 0.5f;
  float w;
  int i;

  if (data == NULL) return 1;
  for (i = 0; i < kElements; ++i) data[i] = (float)(i % 100) / 200;
  options.device = "host";
  options.budget = "9MiB"; /* a value takes 1 MiB, and there are 17 */
  check(rk_runtime_create(&options, &rt));
  for (i = 0; i < kLayers; ++i) {
    check(rk_constant(rt, &scalar, NULL, "w", RK_PARAMETER, &weights[i]));
  }
  for (i = 0; i < kSteps; ++i) {
    train_step(rt, weights, data, &values, &scalar, &rate);
  }
  check(rk_tensor_to_host(weights[0], &w, sizeof(w)));
  check(rk_get_stats(rt, &stats));
  printf("w[0] %.6f after %d steps\n", w, kSteps);
  printf("peak %" PRIu64 " KiB of %" PRIu64 " KiB; %" PRId64 " calls, %" PRId64
         " evictions, %" PRId64 " recomputations\n",
         stats.peak_physical_bytes / 1024, stats.budget / 1024, stats.calls,
         stats.evictions, stats.recomputations);
  for (i = 0; i < kLayers; ++i) rk_tensor_release(weights[i]);
  rk_runtime_release(rt);
  free(data);
  return stats.recomputations > 0 ? 0 : 1;
}
