// SPDX-License-Identifier: Apache-2.0
// A policy of one's own, outside of Rekindle's sources: what is given up first
// is whatever costs least to make again for each byte, but with the square root
// of the cost, so that one expensive tensor is not kept at the price of many
// cheap ones. Runs a program under it and under a built-in policy.
//
// The environment can choose it like any other: REKINDLE_POLICY=sqrt_cost, or
// with its setting, REKINDLE_POLICY=sqrt_cost:power=0.25.
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "rekindle/rekindle.h"

namespace {

using namespace rekindle;  // NOLINT: an example

// The order is that of lines in time, so the victim is found in O(log n).
class SqrtCost : public LinePolicy {
 public:
  SqrtCost(std::string name, double power)
      : LinePolicy(ReleaseRule::kLazy), name_(std::move(name)), power_(power) {}

  static absl::StatusOr<std::unique_ptr<Policy>> Make(
      const PolicySettings& settings) {
    const absl::StatusOr<double> power = settings.Number("power", 0.5);
    if (!power.ok()) return power.status();
    return std::make_unique<SqrtCost>(settings.text(), *power);
  }

  std::string name() const override { return name_; }

  // One over the score: bytes * staleness / cost^power.
  Line LineOf(const Node& node) override {
    if (node.cost == 0) return {std::numeric_limits<double>::infinity(), 0};
    return {static_cast<double>(node.bytes) / std::pow(node.cost, power_),
            node.last_access};
  }

 private:
  const std::string name_;
  const double power_;
};

// Twelve tensors of 1 MiB, each made from the one before at rising cost, then
// read from the last to the first. The sum of what was read; -1 if that failed.
double Run(Runtime& rt) {
  constexpr int64_t n = 1 << 18;
  std::vector<Tensor> x = {rt.Constant(F32({n}), nullptr)};
  for (int i = 0; i < 12; ++i) {
    const double flops = 1e9 * (1 + i % 4);
    x.push_back(rt.Call({.name = "layer", .flops = flops}, {x.back()},
                        {F32({n})}, [](KernelArgs& a) {
                          for (int64_t j = 0; j < n; ++j) {
                            a.output<float>(0)[j] = a.input<float>(0)[j] + 1;
                          }
                          return absl::OkStatus();
                        })[0]);
  }
  double sum = 0;
  for (size_t i = x.size(); i-- > 0;) {
    const absl::StatusOr<ReadGuard> guard = x[i].Read();
    if (!guard.ok()) return -1;
    sum += guard->data<float>()[n - 1];
  }
  return sum;
}

int RunUnder(RuntimeOptions options, const std::string& policy) {
  options.policy = policy;
  options.device = "host";
  options.budget = Budget::Bytes(6 * kMiB);
  const auto rt = Runtime::Create(options);
  if (!rt.ok()) {
    std::printf("%s\n", rt.status().ToString().c_str());
    return 1;
  }
  const double sum = Run(**rt);
  const EngineStats stats = (*rt)->Stats().engine;
  std::printf("%s: sum %g, %lld evictions, %lld recomputations\n",
              policy.c_str(), sum, static_cast<long long>(stats.evictions),
              static_cast<long long>(stats.recomputations));
  return sum == 78 ? 0 : 1;
}

}  // namespace

int main() {
  PolicyRegistry policies = PolicyRegistry::Builtin();
  const absl::Status registered =
      policies.Register("sqrt_cost", SqrtCost::Make);
  // Reads REKINDLE_POLICY among the others; "sqrt_cost" is accepted now.
  const auto options = RuntimeOptions::FromEnvironment(policies);
  if (!registered.ok() || !options.ok()) {
    std::printf("%s\n", options.status().ToString().c_str());
    return 1;
  }
  return RunUnder(*options, "sqrt_cost") +
         RunUnder(*options, "sqrt_cost:power=0.25") +
         RunUnder(*options, "dtr_eq");
}
