// SPDX-License-Identifier: Apache-2.0
// One run of one call. Internal to engine/.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/device/device.h"
#include "rekindle/engine/records.h"
#include "rekindle/engine/residency.h"
#include "rekindle/engine/verifier.h"

namespace rekindle {

// A storage that the call updates, and the storage that holds the new value;
// `to` is null or resident if nobody wants that. `keep_old`: the old value
// must stay, whoever seems to need it.
struct Update {
  int input;
  Storage* from;
  Storage* to;
  bool keep_old = false;
};

// Thread-compatible.
class CallRunner {
 public:
  // `verify`: see Verifier.
  CallRunner(Device& device, Residency& residency, bool verify)
      : device_(device), residency_(residency) {
    if (verify && device.holds_bytes()) verifier_.emplace(device);
  }

  // Runs a call for the first time. Its outputs and the `to` of `updates`
  // become resident; each `from` loses one reference. An updated storage gives
  // its bytes to the new version if nobody may still read it, else the new
  // version is a copy. REQUIRES: all inputs are resident and pinned once by the
  // caller. False if the budget cannot hold outputs, workspace and copies
  // beside what is pinned; nothing has happened then. Errors: of the executor,
  // of the device; the values of constants are as the executor left them.
  // All work is put on `stream`, which waits for what others did before.
  absl::StatusOr<bool> RunFirst(Call& call, absl::Span<const Update> updates,
                                Stream stream);

  // Runs it again, by the same rules: evicted outputs become resident,
  // resident ones keep their bytes; effects go to zeroed scratch.
  absl::StatusOr<bool> RunAgain(Call& call, Stream stream);

  // The most physical memory that a repetition takes beside its inputs.
  size_t WorstCaseBytes(const Call& call) const;

 private:
  // How a call runs.
  struct Mode {
    bool first;
    Stream stream;
  };
  struct Bytes;
  using Addresses = absl::InlinedVector<DeviceAddress, 8>;

  absl::StatusOr<bool> Run(Call& call, absl::Span<const Update> updates,
                           Mode mode);
  absl::StatusOr<bool> RunWith(Call& call, absl::Span<const Update> updates,
                               Mode mode, bool copy_for_references);
  bool MustCopy(const Update& update, Mode mode,
                bool copy_for_references) const;
  using SizeList = absl::InlinedVector<size_t, 6>;
  static SizeList Sizes(const Call& call, absl::Span<const Update> updates,
                        Mode mode, const Bytes& bytes);
  static void Assign(absl::Span<const Block> blocks, const Call& call,
                     Mode mode, Bytes& bytes);
  absl::Status Order(const Call& call, absl::Span<const Update> updates,
                     Mode mode, const Bytes& bytes);
  absl::Status Fill(const Call& call, absl::Span<const Update> updates,
                    Mode mode, const Bytes& bytes);
  void Used(const Call& call, absl::Span<const Update> updates, Mode mode);
  static Addresses InputAddresses(const Call& call,
                                  absl::Span<const Update> updates,
                                  const Bytes& bytes);
  absl::Status Execute(Call& call, absl::Span<const Update> updates, Mode mode,
                       const Bytes& bytes);
  absl::Status RunKernel(Call& call, const KernelBinding& binding);
  // Invokes the executor and takes its time as the cost of the call.
  static absl::Status Measure(Call& call, const KernelBinding& binding);
  void Count(const Call& call, Mode mode);
  void Commit(Call& call, absl::Span<const Update> updates, Mode mode,
              Bytes& bytes);
  void Discard(absl::Span<const Update> updates, Mode mode, Bytes& bytes);
  void Keep(Storage* storage, Holding holding);

  Device& device_;
  Residency& residency_;
  std::optional<Verifier> verifier_;
};

}  // namespace rekindle
