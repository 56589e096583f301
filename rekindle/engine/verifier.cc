// SPDX-License-Identifier: Apache-2.0
#include "rekindle/engine/verifier.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rekindle/base/status_macros.h"
#include "rekindle/base/units.h"

namespace rekindle {
namespace {

// Host memory for looking at values, however large they are.
constexpr size_t kPiece = 4 * kMiB;

bool OnlyReads(const Call& call, size_t input) {
  const Storage* const storage = call.inputs[input];
  if (storage == nullptr) return false;  // an effect
  return std::none_of(call.mutates.begin(), call.mutates.end(), [&](int i) {
    return call.inputs[static_cast<size_t>(i)] == storage;
  });
}

}  // namespace

absl::StatusOr<uint64_t> Verifier::Hash(DeviceAddress address, size_t bytes,
                                        Stream stream) {
  uint64_t hash = bytes;
  buffer_.resize(std::max(buffer_.size(), std::min(bytes, kPiece)));
  for (size_t done = 0; done < bytes; done += kPiece) {
    const size_t piece = std::min(kPiece, bytes - done);
    RK_RETURN_IF_ERROR(
        device_.CopyToHost(buffer_.data(), address + done, piece, stream));
    const absl::string_view view(buffer_.data(), piece);
    hash = absl::Hash<std::pair<uint64_t, absl::string_view>>()({hash, view});
  }
  return hash;
}

absl::StatusOr<Verifier::Hashes> Verifier::InputHashes(
    const Call& call, const KernelBinding& binding) {
  Hashes hashes;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    hashes.push_back(0);
    if (!OnlyReads(call, i)) continue;
    RK_ASSIGN_OR_RETURN(
        hashes.back(),
        Hash(binding.inputs[i], call.inputs[i]->bytes, binding.stream));
  }
  return hashes;
}

absl::StatusOr<Verifier::Hashes> Verifier::OutputHashes(
    const Call& call, const KernelBinding& binding) {
  Hashes hashes;
  const size_t declared = call.declared_outputs();
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const DeviceAddress address =
        i < declared
            ? binding.outputs[i]
            : binding.inputs[static_cast<size_t>(call.mutates[i - declared])];
    RK_ASSIGN_OR_RETURN(const uint64_t hash,
                        Hash(address, call.outputs[i].bytes, binding.stream));
    hashes.push_back(hash);
  }
  return hashes;
}

absl::Status Verifier::Before(const Call& call, const KernelBinding& binding) {
  RK_ASSIGN_OR_RETURN(inputs_, InputHashes(call, binding));
  return absl::OkStatus();
}

absl::Status Verifier::After(Call& call, const KernelBinding& binding) {
  const auto error = [&call](absl::string_view what, size_t index,
                             absl::string_view why) {
    return absl::FailedPreconditionError(
        absl::StrCat(ToString(call.label), ": ", what, " ", index, " ", why));
  };
  RK_ASSIGN_OR_RETURN(const Hashes inputs, InputHashes(call, binding));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == inputs_[i]) continue;
    return error("input", i,
                 "was changed by the kernel; the call does not say that it "
                 "mutates it or has an effect on it");
  }
  RK_ASSIGN_OR_RETURN(Hashes outputs, OutputHashes(call, binding));
  if (call.output_hashes == nullptr) {
    call.output_hashes = std::make_unique<Hashes>(std::move(outputs));
    return absl::OkStatus();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == (*call.output_hashes)[i]) continue;
    return error("output", i,
                 "has other bits when it is computed again: the kernel is no "
                 "pure function of its arguments (or leaves some unwritten)");
  }
  return absl::OkStatus();
}

}  // namespace rekindle
