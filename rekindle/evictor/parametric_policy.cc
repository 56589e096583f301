// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/parametric_policy.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/evictor/evicted_components.h"
#include "rekindle/evictor/evicted_relatives.h"

namespace rekindle {
namespace {

using Cost = ParametricPolicy::Cost;

std::unique_ptr<Neighbourhood> MakeNeighbourhood(Cost cost) {
  switch (cost) {
    case Cost::kNone:
    case Cost::kLocal:
      return nullptr;
    case Cost::kAncestors:
      return std::make_unique<EvictedRelatives>(
          EvictedRelatives::Side::kAncestors);
    case Cost::kEq:
      return std::make_unique<EvictedComponents>();
    case Cost::kEStar:
      return std::make_unique<EvictedRelatives>(EvictedRelatives::Side::kBoth);
  }
  return nullptr;
}

}  // namespace

ParametricPolicy::ParametricPolicy(std::string name, Form form)
    : LinePolicy(ReleaseRule::kEager),
      name_(std::move(name)),
      form_(form),
      neighbourhood_(MakeNeighbourhood(form.cost)) {}

absl::StatusOr<std::unique_ptr<Policy>> ParametricPolicy::Make(
    const PolicySettings& settings) {
  Form form;
  RK_ASSIGN_OR_RETURN(form.cost,
                      settings.OneOf<Cost>("cost", form.cost,
                                           {{"none", Cost::kNone},
                                            {"local", Cost::kLocal},
                                            {"ancestors", Cost::kAncestors},
                                            {"eq", Cost::kEq},
                                            {"estar", Cost::kEStar}}));
  RK_ASSIGN_OR_RETURN(
      form.size,
      settings.OneOf<bool>("size", form.size, {{"0", false}, {"1", true}}));
  RK_ASSIGN_OR_RETURN(form.staleness,
                      settings.Number("staleness", form.staleness));
  const bool in_range =
      form.staleness == 0 ||
      (form.staleness >= kMinStaleness && form.staleness <= kMaxStaleness);
  if (!in_range) {
    return absl::InvalidArgumentError(absl::StrCat(
        "staleness is 0, or from ", kMinStaleness, " to ", kMaxStaleness));
  }
  return std::make_unique<ParametricPolicy>(settings.text(), form);
}

void ParametricPolicy::Attach(const Lineage& lineage, VictimIndex& index) {
  LinePolicy::Attach(lineage, index);
  if (neighbourhood_ != nullptr) neighbourhood_->Attach(lineage, index);
}

// One over the score, to the power that makes it linear in time.
Line ParametricPolicy::WithCost(double cost, const Node& node) const {
  Line line;
  const double bytes = form_.size ? static_cast<double>(node.bytes) : 1;
  line.slope =
      cost > 0 ? bytes / cost : std::numeric_limits<double>::infinity();
  if (form_.staleness == 0) return line;
  line.origin = node.last_access;
  if (form_.staleness != 1) {
    line.slope = std::pow(line.slope, 1 / form_.staleness);
  }
  return line;
}

double ParametricPolicy::TimeOf(double now) const {
  return form_.staleness == 0 ? 1 : now;
}

Line ParametricPolicy::LineOf(const Node& node) {
  double cost = form_.cost == Cost::kNone ? 1 : node.cost;
  if (neighbourhood_ != nullptr) cost += neighbourhood_->CostAround(node);
  return WithCost(cost, node);
}

Line ParametricPolicy::BoundOf(const Node& node) {
  return WithCost(form_.cost == Cost::kNone ? 1 : node.cost, node);
}

void ParametricPolicy::OnEvicted(Node& node) {
  if (neighbourhood_ != nullptr) neighbourhood_->OnEvicted(node);
}
void ParametricPolicy::OnResident(Node& node) {
  if (neighbourhood_ != nullptr) neighbourhood_->OnResident(node);
}
void ParametricPolicy::OnForgotten(Node& node) {
  if (neighbourhood_ != nullptr) neighbourhood_->OnForgotten(node);
}
void ParametricPolicy::Refresh() {
  if (neighbourhood_ != nullptr) neighbourhood_->Refresh();
}

}  // namespace rekindle
