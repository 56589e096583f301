// SPDX-License-Identifier: Apache-2.0
// What the engine says when something does not fit.
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "rekindle/engine/engine_impl.h"

namespace rekindle {

absl::Status Engine::Impl::Exhausted(const CallSpec& spec,
                                     absl::Span<const size_t> copies) {
  Request request = RequestOf(spec, Inputs(spec));
  request.outputs.insert(request.outputs.end(), copies.begin(), copies.end());
  return TooSmall(request);
}

Engine::Impl::Request Engine::Impl::RequestOf(
    const CallSpec& spec, absl::Span<Storage* const> inputs) {
  Request request{spec.label,
                  Distinct(inputs),
                  {spec.output_bytes.begin(), spec.output_bytes.end()},
                  spec.workspace_bytes};
  // What is updated may have to be copied.
  for (int index : ChangedInputs(spec)) {
    const Storage& storage = *inputs[static_cast<size_t>(index)];
    const bool shared = storage.references > 1 || !storage.uses.empty();
    const bool copied = storage.pins > 0 || (storage.constant() && shared);
    if (copied) request.outputs.push_back(storage.bytes);
  }
  return request;
}

absl::Status Engine::Impl::TooSmall(const Request& request) {
  residency_.EvictAll();
  Shortfall shortfall;
  shortfall.label = request.label;
  size_t more = allocator_.WorstCaseBytes(request.workspace);
  for (size_t bytes : request.outputs) {
    shortfall.output_bytes += bytes;
    more += allocator_.WorstCaseBytes(bytes);
  }
  size_t with_inputs = more;
  for (const Storage* input : request.inputs) {
    shortfall.input_bytes += input->bytes;
    if (input->constant() || input->pins > 0) {
      shortfall.held_input_bytes += input->bytes;
    } else {
      with_inputs += allocator_.WorstCaseBytes(input->bytes);
    }
  }
  shortfall.workspace_bytes = request.workspace;
  shortfall.budget = allocator_.stats().budget;
  shortfall.effective_budget = allocator_.stats().effective_budget;
  shortfall.constant_bytes = residency_.stats().constant_bytes;
  shortfall.pinned_bytes = residency_.stats().pinned_bytes;
  shortfall.pinned_by = pins_.OldestLabel();
  const size_t need = rematerializer_.NeedBytes(request.inputs, more);
  if (need > with_inputs) shortfall.recompute_bytes = need;
  shortfall.held_bytes = residency_.held_bytes();
  shortfall.needed_budget = shortfall.held_bytes + need;
  shortfall_ = shortfall;
  return absl::ResourceExhaustedError(ToString(shortfall));
}

}  // namespace rekindle
