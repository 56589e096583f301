// SPDX-License-Identifier: Apache-2.0
// Making evicted storages resident again. Internal to engine/.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/engine/call_runner.h"
#include "rekindle/engine/lineage_graph.h"
#include "rekindle/engine/records.h"
#include "rekindle/engine/residency.h"

namespace rekindle {

// First by plan: the missing calls run in program order, and only the inputs
// of the one that runs are pinned; what later calls read is given up last. If
// something the plan still needs had to go, what is then missing is planned
// again. If that leads nowhere, depth first: one missing input after another
// is made and pinned, that with the largest need beyond its own size first
// (the order of Liu, "On the storage requirement in the out-of-core
// multifrontal method", 1986), which never needs more than NeedBytes. Nothing
// recurses.
class Rematerializer {
 public:
  Rematerializer(LineageGraph& graph, Residency& residency, CallRunner& runner)
      : graph_(graph), residency_(residency), runner_(runner) {}

  // Makes all `targets` (distinct) resident, by work on `stream`, and pins each
  // once. False if the budget cannot hold what that needs at once; nothing is
  // pinned then.
  absl::StatusOr<bool> PinAll(absl::Span<Storage* const> targets,
                              Stream stream);

  // Physical memory, beside what cannot be given up now, with which PinAll of
  // `targets` and then `more` bytes beside them succeeds.
  size_t NeedBytes(absl::Span<Storage* const> targets, size_t more);

 private:
  // Physical need to make the outputs of a call, by the worst placement.
  using Needs = absl::flat_hash_map<const Call*, size_t>;
  struct Frame;

  absl::StatusOr<bool> RunPlan(absl::Span<Storage* const> targets,
                               Stream stream);
  absl::StatusOr<bool> RunDepthFirst(absl::Span<Storage* const> targets,
                                     Stream stream);
  absl::StatusOr<bool> RunFrames(std::vector<Frame>& frames, const Needs& needs,
                                 int64_t runs, Stream stream);
  // `calls`: all that is to run, in order.
  void NoteDepth(absl::Span<Call* const> calls);
  absl::StatusOr<bool> RunOne(Call& call, Stream stream);

  Needs AllNeeds(absl::Span<Storage* const> targets);
  size_t NeedOf(absl::Span<Storage* const> inputs, const Needs& needs,
                size_t own) const;
  std::vector<Storage*> Ordered(absl::Span<Storage* const> inputs,
                                const Needs& needs) const;
  size_t BytesUnder(const Storage& storage) const;

  LineageGraph& graph_;
  Residency& residency_;
  CallRunner& runner_;
};

}  // namespace rekindle
