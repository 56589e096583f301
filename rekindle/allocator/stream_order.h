// SPDX-License-Identifier: Apache-2.0
// Bytes that streams use one after another: who waits for whom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "rekindle/allocator/stream_use.h"
#include "rekindle/device/device.h"

namespace rekindle {

// Free bytes carry a StreamUse. Before a stream gets them, it is made to wait
// for the others in there; before they are unmapped, all in there are done.
//
// Freeing records nothing. Only when somebody needs to know, an event marks
// where a stream is; the mark covers all its uses so far. Time counts marks, so
// uses between two marks have one time. Nothing is asked or waited for twice,
// because of each stream S is remembered up to which time
//   * its uses are covered by its last mark (`marked`);
//   * its uses are known to be done (`done`);
//   * its later work comes after the uses of stream T, for each T (`after`).
// A use of several streams has the latest time of all: the waits may be for
// more than is needed, never for less.
//
// One event for each stream that anybody ever had to wait for. The first 63
// streams have a bit each; those after them share the last bit, and a use of
// one counts as a use of all of them.
// Thread-compatible.
class StreamOrder {
 public:
  // `device` must outlive this object.
  explicit StreamOrder(Device& device);
  // Ends the events; waits for nothing.
  ~StreamOrder();
  StreamOrder(const StreamOrder&) = delete;
  StreamOrder& operator=(const StreamOrder&) = delete;

  // Use by all work that is now in the streams. Makes no device call.
  StreamUse Use(Stream stream) { return {BitOf(stream), now_}; }
  StreamUse Use(absl::Span<const Stream> streams);

  // Whether Wait would make the stream wait for another.
  bool NeedsWait(const StreamUse& use, Stream stream) {
    return Others(use, stream) && FindWait(use, IndexOf(stream)).has_value();
  }

  // Makes later work of `stream` come after `use`; the host does not wait.
  // Errors: of the device; streams then wait for no more than before, or for
  // some of the others. Cost: nothing if only `stream` is in `use`.
  absl::Status Wait(const StreamUse& use, Stream stream) {
    if (!Others(use, stream)) return absl::OkStatus();
    return WaitForOthers(use, IndexOf(stream));
  }

  // Whether all of `use` is known to be done. Makes no device call.
  bool IsDone(const StreamUse& use) const;

  // The same, and asks the device. A mark that is on its way is not replaced
  // here (though by Wait, which asks for it first), however busy the stream is.
  absl::StatusOr<bool> Ask(const StreamUse& use);

  // Asks, and has the host wait for each stream that is not done.
  absl::Status Finish(const StreamUse& use);

  // The host waits for every stream that was ever named and has not ended, and
  // for the default one. For ends: a wait that fails is tried once more.
  void FinishAll();

  // The stream is no more, and all its work is done. (Its handle may be that
  // of another stream one day.)
  void End(Stream stream);

  // Streams that have a name here, with the default one.
  size_t size() const { return indices_.size(); }

  // Aborts unless all bookkeeping agrees. Slow; for tests.
  void CheckInvariants() const;

 private:
  static constexpr size_t kShared = 63;  // the bit that many streams have
  static constexpr uint64_t kSharedBit = uint64_t{1} << kShared;

  struct Source {
    Stream stream;
    bool ended = false;  // its place waits for another stream; always done
    std::optional<Event> event;
    uint64_t marked = 0;
    uint64_t done = 0;
    std::vector<uint64_t> after;  // by index of the other; 0 beyond its end
  };

  static constexpr uint64_t kAlways = ~uint64_t{0};

  static uint64_t BitAt(size_t index) {
    return uint64_t{1} << (index < kShared ? index : kShared);
  }
  static bool Has(const StreamUse& use, size_t index) {
    return (use.streams & BitAt(index)) != 0;
  }

  uint64_t BitOf(Stream stream) {
    return stream == Stream() ? BitAt(0) : BitAt(IndexOf(stream));
  }
  // Whether `use` has a stream that is, or may be, another one.
  bool Others(const StreamUse& use, Stream stream) {
    return (use.streams & ~(BitOf(stream) & ~kSharedBit)) != 0;
  }

  size_t IndexOf(Stream stream) {
    return stream == latest_ ? latest_index_ : Find(stream);
  }
  size_t Find(Stream stream);
  size_t Add(Stream stream);
  uint64_t After(size_t to, size_t from) const;
  std::optional<size_t> FindWait(const StreamUse& use, size_t to,
                                 size_t first = 0) const;
  absl::Status WaitForOthers(const StreamUse& use, size_t to);
  absl::Status Mark(Source& source);
  absl::Status AskOne(Source& source, uint64_t time);
  absl::Status FinishOne(Source& source);

  Device& device_;
  uint64_t now_ = 1;
  Stream latest_;
  size_t latest_index_ = 0;
  std::vector<Source> sources_;  // the first is the default stream
  absl::flat_hash_map<uintptr_t, size_t> indices_;  // by handle
};

}  // namespace rekindle
