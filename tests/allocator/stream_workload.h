// SPDX-License-Identifier: Apache-2.0
// Random requests to an allocator by four streams with work on all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "rekindle/allocator/allocator.h"
#include "rekindle/device/device.h"

namespace rekindle {

// How bytes are written and looked at, in the order of a stream.
class StreamBytes {
 public:
  virtual ~StreamBytes() = default;
  virtual absl::Status Write(Block block, uint8_t content, Stream stream) = 0;
  // Once it runs, compares all bytes of the block.
  virtual absl::Status Check(Block block, uint8_t content, Stream stream) = 0;
  // Blocks found with other bytes than they should have had.
  virtual int64_t wrong() const = 0;
};

// By the verbs of a device: the host waits for what it looks at.
class VerbBytes : public StreamBytes {
 public:
  explicit VerbBytes(Device& device) : device_(device) {}
  absl::Status Write(Block block, uint8_t content, Stream stream) override;
  absl::Status Check(Block block, uint8_t content, Stream stream) override;
  int64_t wrong() const override { return wrong_; }

 private:
  Device& device_;
  int64_t wrong_ = 0;
};

struct StreamWorkloadOptions {
  size_t largest_block = 0;
  // One in so many steps trims, changes the budget, or exchanges a stream.
  // 0: none does.
  int upheaval_every = 0;
  // Whether device calls may fail: then memory can stay above a lowered budget.
  bool device_fails = false;
};

// Each step queues work and never waits for it: a block is allocated for a
// stream and written there; or looked at and freed; or handed to another stream
// that waits for the first; or looked at by a second stream too, and then freed
// on both. Whatever is queued, the device never holds more than the budget, or
// after a lowered budget what the live blocks need; or the test fails.
class StreamWorkload {
 public:
  StreamWorkload(Device& device, Allocator& allocator, StreamBytes& bytes,
                 uint64_t seed, const StreamWorkloadOptions& options);

  // Makes the streams. Once, before anything else.
  absl::Status Open();

  // Does `steps` steps; the first error of the device.
  absl::Status Run(int steps);

  // Looks at every block and frees it; goes on after errors.
  absl::Status FreeAll();

  // Ends the streams, each at the second try if need be.
  // REQUIRES: the allocator is gone.
  void EndStreams();

  int64_t misses() const { return misses_; }  // requests that did not fit

 private:
  static constexpr size_t kStreams = 4;

  struct LiveBlock {
    Block block;
    uint8_t content = 0;
    bool written = false;
    std::vector<Stream> streams;  // the last is the one that works on it
  };

  absl::Status Step();
  absl::Status Allocate();
  absl::Status FreeOne();
  absl::Status HandOver(bool both);
  absl::Status Upheaval();
  absl::Status ExchangeStream();
  absl::Status Check(const LiveBlock& live);
  void CheckBudget();
  size_t Draw(size_t bound) { return random_() % bound; }
  Stream DrawStream() { return streams_[Draw(streams_.size())]; }

  Device& device_;
  Allocator& allocator_;
  StreamBytes& bytes_;
  const StreamWorkloadOptions options_;
  const size_t largest_budget_;
  std::mt19937_64 random_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
  std::vector<LiveBlock> live_;
  int64_t misses_ = 0;
};

}  // namespace rekindle
