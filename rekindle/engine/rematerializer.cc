// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/rematerializer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "rekindle/base/status_macros.h"
#include "rekindle/engine/plan.h"

namespace rekindle {
namespace {

// Plans that may break, one after another, before the depth-first order.
constexpr int kMaxPlans = 50;
// Runs of the depth-first order, a missing call, before it counts as hopeless:
// with very little memory the number of runs can grow exponentially.
constexpr int64_t kMaxRunsPerCall = 1000;

std::vector<Storage*> Parents(const Call& call) {
  std::vector<Storage*> parents;
  for (const Call::Parent& parent : call.parents) {
    parents.push_back(parent.storage);
  }
  return parents;
}

bool AllResident(absl::Span<Storage* const> storages) {
  return std::all_of(storages.begin(), storages.end(),
                     [](const Storage* s) { return s->resident(); });
}

bool IsEvicted(const Storage& storage) { return storage.evicted; }

// Evicted now, or may be evicted at any time.
bool MayBeMissing(const Storage& storage) {
  return storage.evicted || (!storage.constant() && storage.pins == 0);
}

}  // namespace

absl::StatusOr<bool> Rematerializer::PinAll(absl::Span<Storage* const> targets,
                                            Stream stream) {
  for (int i = 0; i < kMaxPlans; ++i) {
    residency_.set_plan_broken(false);
    RK_ASSIGN_OR_RETURN(const bool done, RunPlan(targets, stream));
    if (done) return true;
    if (!residency_.plan_broken()) break;  // no room even for one call
  }
  return RunDepthFirst(targets, stream);
}

absl::StatusOr<bool> Rematerializer::RunPlan(absl::Span<Storage* const> targets,
                                             Stream stream) {
  bool reached = true;
  if (!AllResident(targets)) {
    std::vector<Call*> calls = graph_.CallsBehind(targets, IsEvicted);
    NoteDepth(calls);
    Plan plan(residency_, std::move(calls), targets);
    while (reached && !plan.done()) {
      Call& call = plan.next();
      if (!AllResident(Parents(call))) {
        reached = false;  // given up for an earlier call of the plan
        residency_.set_plan_broken(true);
        break;
      }
      RK_ASSIGN_OR_RETURN(reached, RunOne(call, stream));
      if (reached) plan.Advance();
      residency_.Settle();
    }
    reached = reached && AllResident(targets);
    if (reached) {
      for (Storage* target : targets) residency_.Pin(*target);
    }
  } else {
    for (Storage* target : targets) residency_.Pin(*target);
  }
  residency_.Settle();
  return reached;
}

void Rematerializer::NoteDepth(absl::Span<Call* const> calls) {
  int64_t& most = residency_.stats().max_depth;
  for (Call* call : calls) {
    call->depth = 1;
    for (const Call::Parent& parent : call->parents) {
      if (!parent.storage->evicted) continue;
      call->depth = std::max(call->depth, parent.storage->producer->depth + 1);
    }
    most = std::max(most, call->depth);
  }
}

absl::StatusOr<bool> Rematerializer::RunOne(Call& call, Stream stream) {
  const std::vector<Storage*> parents = Parents(call);
  for (Storage* parent : parents) residency_.Pin(*parent);
  const absl::StatusOr<bool> done = runner_.RunAgain(call, stream);
  for (Storage* parent : parents) residency_.Unpin(*parent);
  return done;
}

// One call that is to run, or, at the bottom, the request itself.
struct Rematerializer::Frame {
  Call* call = nullptr;       // null at the bottom
  Storage* wanted = nullptr;  // the output to pin for the frame below
  std::vector<Storage*> inputs;
  size_t pinned = 0;  // that many inputs, from the front, are pinned
};

absl::StatusOr<bool> Rematerializer::RunDepthFirst(
    absl::Span<Storage* const> targets, Stream stream) {
  const Needs needs = AllNeeds(targets);
  std::vector<Frame> frames;
  frames.push_back({nullptr, nullptr, Ordered(targets, needs), 0});
  const int64_t runs =
      kMaxRunsPerCall * (static_cast<int64_t>(needs.size()) + 1);
  const absl::StatusOr<bool> done = RunFrames(frames, needs, runs, stream);
  if (!done.ok() || !*done) {
    for (const Frame& frame : frames) {
      for (size_t i = 0; i < frame.pinned; ++i) {
        residency_.Unpin(*frame.inputs[i]);
      }
    }
  }
  residency_.Settle();
  return done;
}

absl::StatusOr<bool> Rematerializer::RunFrames(std::vector<Frame>& frames,
                                               const Needs& needs, int64_t runs,
                                               Stream stream) {
  while (true) {
    Frame& frame = frames.back();
    if (frame.pinned < frame.inputs.size()) {
      Storage& input = *frame.inputs[frame.pinned];
      if (input.resident()) {
        residency_.Pin(input);
        ++frame.pinned;
      } else {
        Call& call = *input.producer;
        frames.push_back({&call, &input, Ordered(Parents(call), needs), 0});
      }
      continue;
    }
    if (frame.call == nullptr) return true;
    if (--runs < 0) {
      return absl::AbortedError(
          "under this budget a value takes too many repeated calls to make "
          "again; a larger budget avoids them");
    }
    RK_ASSIGN_OR_RETURN(const bool done, runner_.RunAgain(*frame.call, stream));
    if (!done) return false;
    residency_.Pin(*frame.wanted);
    for (Storage* input : frame.inputs) residency_.Unpin(*input);
    frames.pop_back();
    ++frames.back().pinned;  // what the frame below was waiting for
    residency_.Settle();
  }
}

size_t Rematerializer::BytesUnder(const Storage& storage) const {
  return residency_.allocator().WorstCaseBytes(storage.bytes);
}

Rematerializer::Needs Rematerializer::AllNeeds(
    absl::Span<Storage* const> targets) {
  Needs needs;
  for (const Call* call : graph_.CallsBehind(targets, MayBeMissing)) {
    needs[call] = NeedOf(Parents(*call), needs, runner_.WorstCaseBytes(*call));
  }
  return needs;
}

std::vector<Storage*> Rematerializer::Ordered(absl::Span<Storage* const> inputs,
                                              const Needs& needs) const {
  // What is there whatever happens first; it costs nothing to pin.
  const auto excess = [this, &needs](const Storage* storage) {
    if (!MayBeMissing(*storage)) return std::numeric_limits<int64_t>::max();
    const auto need = needs.find(storage->producer);
    const size_t bytes = need == needs.end() ? 0 : need->second;
    return static_cast<int64_t>(bytes) -
           static_cast<int64_t>(BytesUnder(*storage));
  };
  std::vector<Storage*> ordered(inputs.begin(), inputs.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&excess](const Storage* a, const Storage* b) {
                     return excess(a) > excess(b);
                   });
  return ordered;
}

size_t Rematerializer::NeedOf(absl::Span<Storage* const> inputs,
                              const Needs& needs, size_t own) const {
  size_t pinned = 0;
  size_t need = 0;
  for (const Storage* input : Ordered(inputs, needs)) {
    if (!MayBeMissing(*input)) continue;
    need = std::max(need, pinned + needs.at(input->producer));
    pinned += BytesUnder(*input);
  }
  return std::max(need, pinned + own);
}

size_t Rematerializer::NeedBytes(absl::Span<Storage* const> targets,
                                 size_t more) {
  return NeedOf(targets, AllNeeds(targets), more);
}

}  // namespace rekindle
