// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/call_runner.h"

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rekindle/base/status_macros.h"

namespace rekindle {
namespace {

// Runs the executor; an exception becomes an error.
absl::Status Invoke(Call& call, const KernelBinding& binding) {
  if (!call.execute) return absl::OkStatus();
  try {
    return call.execute(binding);
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat(ToString(call.label), " threw: ", error.what()));
  } catch (...) {
    return absl::InternalError(
        absl::StrCat(ToString(call.label), " threw an unknown exception"));
  }
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

}  // namespace

// What one run is given, in the order in which it is allocated.
struct CallRunner::Bytes {
  absl::InlinedVector<Block, 2> outputs;
  Block workspace;
  absl::InlinedVector<Block, 1>
      scratch;  // one an effect, if it must not happen
  // One an update: the copy to work on, or nullopt to work on the old bytes.
  absl::InlinedVector<std::optional<Block>, 2> copies;
};

absl::StatusOr<bool> CallRunner::RunFirst(Call& call,
                                          absl::Span<const Update> updates,
                                          Stream stream) {
  return Run(call, updates, {/*first=*/true, stream});
}

absl::StatusOr<bool> CallRunner::RunAgain(Call& call, Stream stream) {
  absl::InlinedVector<Update, 2> updates;
  for (size_t i = 0; i < call.mutates.size(); ++i) {
    const int input = call.mutates[i];
    updates.push_back({input, call.inputs[static_cast<size_t>(input)],
                       call.outputs[call.declared_outputs() + i].storage,
                       false});
  }
  return Run(call, updates, {/*first=*/false, stream});
}

absl::StatusOr<bool> CallRunner::Run(Call& call,
                                     absl::Span<const Update> updates,
                                     Mode mode) {
  RK_ASSIGN_OR_RETURN(const bool done, RunWith(call, updates, mode, true));
  if (done || updates.empty()) return done;
  // The old value of what has lineage can be made again: if there is no room
  // for a copy, its readers will have to wait for that.
  return RunWith(call, updates, mode, false);
}

bool CallRunner::MustCopy(const Update& update, Mode mode,
                          bool copy_for_references) const {
  const Storage& from = *update.from;
  // The caller has pinned it once; others are reading it.
  if (update.keep_old || from.pins > 1) return true;
  // The caller's handle moves on to the new version at the first run.
  const int readers = from.references - (mode.first ? 1 : 0);
  // A constant cannot be made again; a repetition finds one here if the old
  // value was detached meanwhile.
  if (from.constant()) return !mode.first || readers > 0;
  return copy_for_references && (readers > 0 || from.plan_uses > 1);
}

// The sizes of what a run needs, in the order of Bytes.
CallRunner::SizeList CallRunner::Sizes(const Call& call,
                                       absl::Span<const Update> updates,
                                       Mode mode, const Bytes& bytes) {
  SizeList sizes;
  for (size_t i = 0; i < call.declared_outputs(); ++i) {
    sizes.push_back(call.outputs[i].bytes);
  }
  sizes.push_back(call.workspace_bytes);
  for (const Call::Effect& effect : call.effects) {
    if (!mode.first) sizes.push_back(effect.bytes);
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    if (bytes.copies[i].has_value()) sizes.push_back(updates[i].from->bytes);
  }
  return sizes;
}

// Deals out the blocks of Sizes.
void CallRunner::Assign(absl::Span<const Block> blocks, const Call& call,
                        Mode mode, Bytes& bytes) {
  const Block* next = blocks.data();
  const size_t outputs = call.declared_outputs();
  bytes.outputs.assign(next, next + outputs);
  next += outputs;
  bytes.workspace = *next++;
  const size_t effects = !mode.first ? call.effects.size() : 0;
  bytes.scratch.assign(next, next + effects);
  next += effects;
  for (std::optional<Block>& copy : bytes.copies) {
    if (copy.has_value()) *copy = *next++;
  }
}

absl::StatusOr<bool> CallRunner::RunWith(Call& call,
                                         absl::Span<const Update> updates,
                                         Mode mode, bool copy_for_references) {
  Bytes bytes;
  for (const Update& update : updates) {
    bytes.copies.emplace_back();
    if (MustCopy(update, mode, copy_for_references)) {
      bytes.copies.back().emplace();
    }
  }
  Residency::Blocks blocks;
  RK_ASSIGN_OR_RETURN(const bool fits,
                      residency_.Allocate(Sizes(call, updates, mode, bytes),
                                          mode.stream, blocks));
  if (!fits) return false;
  Assign(blocks, call, mode, bytes);

  absl::Status status = Order(call, updates, mode, bytes);
  if (status.ok()) status = Fill(call, updates, mode, bytes);
  if (status.ok()) status = Execute(call, updates, mode, bytes);
  Used(call, updates, mode);
  if (!status.ok()) {
    Discard(updates, mode, bytes);
    return status;
  }
  // The caller's handles move on to the new versions.
  for (const Update& update : updates) {
    if (mode.first) residency_.DropReference(*update.from);
  }
  Commit(call, updates, mode, bytes);
  return true;
}

// The stream waits for those who wrote what the call reads, and for those who
// used what it writes over.
absl::Status CallRunner::Order(const Call& call,
                               absl::Span<const Update> updates, Mode mode,
                               const Bytes& bytes) {
  StreamClock& clock = residency_.clock();
  for (const Storage* input : call.inputs) {
    if (input == nullptr) continue;
    RK_RETURN_IF_ERROR(clock.Wait(mode.stream, input->holding.written));
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    const Holding& old = updates[i].from->holding;
    RK_RETURN_IF_ERROR(bytes.copies[i].has_value()
                           ? clock.Wait(mode.stream, old.written)
                           : clock.WaitAll(mode.stream, old.uses));
  }
  return absl::OkStatus();
}

// Also where it failed: some of its work may be on the stream.
void CallRunner::Used(const Call& call, absl::Span<const Update> updates,
                      Mode mode) {
  const StreamPoint now = residency_.clock().Now(mode.stream);
  for (Storage* input : call.inputs) {
    if (input != nullptr) input->holding.uses.Add(now);
  }
  for (const Update& update : updates) update.from->holding.uses.Add(now);
}

absl::Status CallRunner::Fill(const Call& call,
                              absl::Span<const Update> updates, Mode mode,
                              const Bytes& bytes) {
  for (size_t i = 0; i < bytes.scratch.size(); ++i) {
    RK_RETURN_IF_ERROR(device_.Fill(bytes.scratch[i].address, 0,
                                    call.effects[i].bytes, mode.stream));
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    if (!bytes.copies[i].has_value()) continue;
    RK_RETURN_IF_ERROR(device_.Copy(bytes.copies[i]->address,
                                    updates[i].from->address(),
                                    updates[i].from->bytes, mode.stream));
  }
  return absl::OkStatus();
}

// Where the executor finds each input.
CallRunner::Addresses CallRunner::InputAddresses(
    const Call& call, absl::Span<const Update> updates, const Bytes& bytes) {
  Addresses inputs;
  for (const Storage* input : call.inputs) {
    inputs.push_back(input == nullptr ? 0 : input->address());
  }
  for (size_t i = 0; i < bytes.scratch.size(); ++i) {
    inputs[static_cast<size_t>(call.effects[i].input)] =
        bytes.scratch[i].address;
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    const Update& update = updates[i];
    const DeviceAddress address = bytes.copies[i].has_value()
                                      ? bytes.copies[i]->address
                                      : update.from->address();
    inputs[static_cast<size_t>(update.input)] = address;
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (call.inputs[j] == update.from) inputs[j] = address;
    }
  }
  return inputs;
}

absl::Status CallRunner::Execute(Call& call, absl::Span<const Update> updates,
                                 Mode mode, const Bytes& bytes) {
  const Addresses inputs = InputAddresses(call, updates, bytes);
  Addresses outputs;
  size_t transient = call.workspace_bytes;
  for (const Block& block : bytes.outputs) {
    outputs.push_back(block.address);
    transient += block.bytes;
  }
  for (const auto& copy : bytes.copies) transient += copy ? copy->bytes : 0;
  if (mode.first) residency_.NotePeak(transient);
  for (Storage* input : call.inputs) {
    if (input != nullptr) residency_.Accessed(*input);
  }
  const KernelBinding binding{inputs, outputs, bytes.workspace.address,
                              mode.stream};
  if (verifier_.has_value()) {
    RK_RETURN_IF_ERROR(verifier_->Before(call, binding));
  }
  RK_RETURN_IF_ERROR(RunKernel(call, binding));
  if (verifier_.has_value()) {
    RK_RETURN_IF_ERROR(verifier_->After(call, binding));
  }
  Count(call, mode);
  return absl::OkStatus();
}

absl::Status CallRunner::RunKernel(Call& call, const KernelBinding& binding) {
  return call.cost < 0 ? Measure(call, binding) : Invoke(call, binding);
}

absl::Status CallRunner::Measure(Call& call, const KernelBinding& binding) {
  const auto start = std::chrono::steady_clock::now();
  RK_RETURN_IF_ERROR(Invoke(call, binding));
  const double cost = SecondsSince(start);
  call.cost = cost;
  for (const Call::Output& output : call.outputs) {
    if (output.storage != nullptr) output.storage->cost = cost;
  }
  return absl::OkStatus();
}

void CallRunner::Count(const Call& call, Mode mode) {
  EngineStats& stats = residency_.stats();
  if (mode.first) {
    ++stats.calls;
    stats.call_cost += call.cost;
  } else {
    ++stats.recomputations;
    stats.recompute_cost += call.cost;
  }
  residency_.Advance(call.cost);
}

void CallRunner::Keep(Storage* storage, Holding holding) {
  if (storage != nullptr && storage->evicted) {
    residency_.Place(*storage, std::move(holding));
  } else {
    residency_.Free(std::move(holding));
  }
}

void CallRunner::Commit(Call& call, absl::Span<const Update> updates, Mode mode,
                        Bytes& bytes) {
  residency_.Free(bytes.workspace, mode.stream);
  for (Block& block : bytes.scratch) residency_.Free(block, mode.stream);
  const StreamPoint now = residency_.clock().Now(mode.stream);
  const auto made = [&now](const Block& block) {
    Holding holding{block};
    holding.Written(now);
    return holding;
  };
  for (size_t i = 0; i < bytes.outputs.size(); ++i) {
    Keep(call.outputs[i].storage, made(bytes.outputs[i]));
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    Storage& from = *updates[i].from;
    Storage* const to = updates[i].to;
    if (bytes.copies[i].has_value()) {
      Keep(to, made(*bytes.copies[i]));
    } else if (to != nullptr && to->evicted) {
      residency_.Transfer(from, *to);
      to->holding.Written(now);
    } else {
      residency_.Free(residency_.Take(from));
    }
  }
}

void CallRunner::Discard(absl::Span<const Update> updates, Mode mode,
                         Bytes& bytes) {
  residency_.Free(bytes.workspace, mode.stream);
  for (Block& block : bytes.scratch) residency_.Free(block, mode.stream);
  for (Block& block : bytes.outputs) residency_.Free(block, mode.stream);
  for (size_t i = 0; i < updates.size(); ++i) {
    if (bytes.copies[i].has_value()) {
      residency_.Free(*bytes.copies[i], mode.stream);
    } else if (!updates[i].from->constant()) {
      // The executor may have changed some of it; it can be made again.
      residency_.Free(residency_.Take(*updates[i].from));
    }
  }
}

size_t CallRunner::WorstCaseBytes(const Call& call) const {
  const Allocator& allocator = residency_.allocator();
  size_t bytes = allocator.WorstCaseBytes(call.workspace_bytes);
  for (const Call::Output& output : call.outputs) {
    bytes += allocator.WorstCaseBytes(output.bytes);
  }
  for (const Call::Effect& effect : call.effects) {
    bytes += allocator.WorstCaseBytes(effect.bytes);
  }
  return bytes;
}

}  // namespace rekindle
