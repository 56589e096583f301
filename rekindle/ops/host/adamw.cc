// SPDX-License-Identifier: Apache-2.0
#include "rekindle/ops/host/adamw.h"

#include <cmath>

#include "rekindle/base/check.h"
#include "rekindle/ops/host/vectorize.h"

namespace rekindle::ops::host {
namespace {

constexpr int64_t kOperations = 6;  // Of an element, against a plain copy.

struct Factors {
  float rate, decay, beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon;
  float m_correction, v_correction;  // 1 / (1 - beta^step)
};

Factors FactorsOf(const AdamWOptions& options, int64_t step) {
  const double n = static_cast<double>(step);
  return {options.learning_rate,
          options.weight_decay,
          options.beta1,
          1.0f - options.beta1,
          options.beta2,
          1.0f - options.beta2,
          options.epsilon,
          static_cast<float>(1.0 / (1.0 - std::pow(options.beta1, n))),
          static_cast<float>(1.0 / (1.0 - std::pow(options.beta2, n)))};
}

RK_HOST_CLONES void Range(const Factors& factors, const float* gradient,
                          float* parameter, float* m, float* v, int64_t count) {
  const Factors f = factors;
  RK_HOST_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    const float mi = f.beta1 * m[i] + f.one_minus_beta1 * g;
    const float vi = f.beta2 * v[i] + f.one_minus_beta2 * g * g;
    const float direction =
        (mi * f.m_correction) / (std::sqrt(vi * f.v_correction) + f.epsilon);
    m[i] = mi;
    v[i] = vi;
    parameter[i] -= f.rate * (direction + f.decay * parameter[i]);
  }
}

}  // namespace

void AdamW(HostThreads threads, int64_t count, const AdamWOptions& options,
           int64_t step, const float* gradient, float* parameter, float* m,
           float* v) {
  RK_CHECK(step >= 1, "AdamW counts its steps from 1");
  const Factors factors = FactorsOf(options, step);
  ParallelFor(threads, count, kOperations, [=](int64_t begin, int64_t end) {
    Range(factors, gradient + begin, parameter + begin, m + begin, v + begin,
          end - begin);
  });
}

}  // namespace rekindle::ops::host
