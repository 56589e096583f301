// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/shortfall.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

// Sizes in one sentence share a unit, which only the first of them names.
class Unit {
 public:
  // The largest unit that `bytes` reaches.
  explicit Unit(size_t bytes) {
    if (bytes >= kGiB) {
      *this = Unit("GiB", kGiB);
    } else if (bytes >= kMiB) {
      *this = Unit("MiB", kMiB);
    } else if (bytes >= kKiB) {
      *this = Unit("KiB", kKiB);
    }
  }

  // "1.50"; "0"; with a unit of its own ("4.00 KiB") where that would be 0.00.
  std::string Number(size_t bytes) const {
    if (bytes == 0 || bytes_ == 1) return absl::StrCat(bytes);
    const double value = static_cast<double>(bytes) / bytes_;
    return value < 0.005 ? FormatBytes(bytes) : absl::StrFormat("%.2f", value);
  }

  // With its unit: "1.50 GiB".
  std::string WithName(size_t bytes) const {
    const std::string number = Number(bytes);
    const bool has_name = number.find(' ') != std::string::npos;
    return has_name ? number : absl::StrCat(number, " ", name_);
  }

  // The same, never below `bytes`: what is asked for must be enough.
  std::string AtLeast(size_t bytes) const {
    if (bytes_ == 1) return absl::StrCat(bytes);
    const double value = static_cast<double>(bytes) / bytes_;
    return absl::StrFormat("%.2f", std::ceil(value * 100) / 100);
  }

  const char* name() const { return name_; }

 private:
  Unit(const char* name, size_t bytes)
      : name_(name), bytes_(static_cast<double>(bytes)) {}

  const char* name_ = "B";
  double bytes_ = 1;
};

// By name; reports list them in this order.
constexpr struct {
  Kind kind;
  const char* plural;
} kKindNames[] = {
    {Kind::kActivation, "activations"},
    {Kind::kGradient, "gradients"},
    {Kind::kInput, "inputs"},
    {Kind::kOptimizer, "optimizer"},
    {Kind::kOther, "other"},
    {Kind::kParameter, "parameters"},
};

size_t Sum(const std::array<size_t, kKinds>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), size_t{0});
}

// "inputs 0.75", "inputs 0.75 held", "inputs 0.75 of which held 0.50"
std::string Inputs(const Shortfall& shortfall, const Unit& unit) {
  std::string text =
      absl::StrCat("inputs ", unit.Number(shortfall.input_bytes));
  const size_t held = shortfall.held_input_bytes;
  if (held == 0) return text;
  if (held == shortfall.input_bytes) return absl::StrCat(text, " held");
  return absl::StrCat(text, " of which held ", unit.Number(held));
}

std::string Need(const Shortfall& shortfall) {
  const size_t bytes = shortfall.input_bytes + shortfall.output_bytes +
                       shortfall.workspace_bytes;
  const Unit unit(bytes);
  return absl::StrCat(unit.Number(bytes), " ", unit.name(), " at once (",
                      Inputs(shortfall, unit), ", outputs ",
                      unit.Number(shortfall.output_bytes), ", workspace ",
                      unit.Number(shortfall.workspace_bytes), ")");
}

std::string Constants(const Shortfall& shortfall, const Unit& unit) {
  std::string text =
      absl::StrCat("constants ", unit.Number(Sum(shortfall.constant_bytes)));
  std::vector<std::string> kinds;
  for (const auto& [kind, plural] : kKindNames) {
    const size_t bytes = shortfall.constant_bytes[static_cast<size_t>(kind)];
    if (bytes > 0)
      kinds.push_back(absl::StrCat(plural, " ", unit.Number(bytes)));
  }
  if (!kinds.empty())
    absl::StrAppend(&text, " (", absl::StrJoin(kinds, ", "), ")");
  return text;
}

std::string Pins(const Shortfall& shortfall, const Unit& unit) {
  std::string text =
      absl::StrCat("pinned ", unit.Number(shortfall.pinned_bytes));
  const Label& by = shortfall.pinned_by;
  if (shortfall.pinned_bytes == 0 || by.name().empty()) return text;
  const std::string place = Place(by);
  return absl::StrCat(text, " (", place.empty() ? by.name() : place, ")");
}

std::string BudgetText(const Shortfall& shortfall, const Unit& unit) {
  std::string text = absl::StrCat("budget ", unit.WithName(shortfall.budget));
  if (shortfall.device_is_short()) {
    absl::StrAppend(&text, " (of which the device has only ",
                    unit.Number(shortfall.effective_budget),
                    ": another process may hold memory)");
  }
  return text;
}

// What whole chunks take beyond the values in them, where blocks lie worst.
std::string Rounding(const Shortfall& shortfall, const Unit& unit) {
  size_t values = Sum(shortfall.constant_bytes) + shortfall.pinned_bytes;
  if (shortfall.recompute_bytes > 0) {
    values += shortfall.recompute_bytes;
  } else {
    values += shortfall.input_bytes - shortfall.held_input_bytes +
              shortfall.output_bytes + shortfall.workspace_bytes;
  }
  if (shortfall.needed_budget <= values) return "";
  return absl::StrCat(", rounding ",
                      unit.Number(shortfall.needed_budget - values));
}

// What it takes to make missing inputs again, where that is more than to run
// the call itself.
std::string Recomputation(const Shortfall& shortfall, const Unit& unit) {
  if (shortfall.recompute_bytes == 0) return "";
  return absl::StrCat(", to make its inputs again ",
                      unit.Number(shortfall.recompute_bytes));
}

}  // namespace

std::string ToString(const Shortfall& shortfall) {
  const Unit unit(std::max(shortfall.budget, shortfall.needed_budget));
  return absl::StrCat(ToString(shortfall.label), " needs ", Need(shortfall),
                      "; ", BudgetText(shortfall, unit), ": ",
                      Constants(shortfall, unit), ", ", Pins(shortfall, unit),
                      Rounding(shortfall, unit), Recomputation(shortfall, unit),
                      ", short by ", unit.AtLeast(shortfall.short_by()),
                      ". This call needs at least ",
                      unit.AtLeast(shortfall.needed_budget), " ", unit.name(),
                      " to be sure to run.");
}

}  // namespace rekindle
