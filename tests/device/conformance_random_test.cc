// SPDX-License-Identifier: Apache-2.0
// Random verbs, right and wrong ones, against a model that keeps one entry for
// each granule of address space.
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/base/status_matchers.h"
#include "tests/device/conformance.h"

namespace rekindle {
namespace {

using testing::AnyOf;

constexpr size_t kRangeUnits = 12;
constexpr size_t kMostUnits = 8;

// What the device should hold. Granules are numbered within one reservation.
struct Model {
  struct Chunk {
    size_t units;
    uint8_t content;
    int place = -1;  // the first granule it is mapped at
  };
  std::map<int64_t, Chunk> chunks;
  std::vector<int64_t> owner = std::vector<int64_t>(kRangeUnits, -1);
  size_t created = 0;
};

class RandomVerbs {
 public:
  RandomVerbs(Device& device, uint64_t seed)
      : device_(device),
        unit_(device.granularity()),
        base_(device.Reserve(kRangeUnits * unit_).value()),
        random_(seed) {}

  ~RandomVerbs() {
    EXPECT_THAT(device_.Synchronize(Stream()), IsOk());
    for (const auto& [id, chunk] : model_.chunks) {
      if (chunk.place >= 0) {
        EXPECT_THAT(device_.Unmap(AddressOf(chunk), chunk.units * unit_),
                    IsOk());
      }
      EXPECT_THAT(device_.Destroy(ChunkId(id)), IsOk());
    }
    EXPECT_THAT(device_.Release(base_, kRangeUnits * unit_), IsOk());
  }

  void Step() {
    switch (Draw(6)) {
      case 0:
        TryCreate();
        break;
      case 1:
        TryDestroy();
        break;
      case 2:
        TryUnmap();
        break;
      case 3:
        TryFill();
        break;
      default:
        TryMap();
    }
    CheckAll();
  }

 private:
  size_t Draw(size_t bound) { return random_() % bound; }

  ChunkId DrawChunk() {
    if (model_.chunks.empty() || Draw(20) == 0) return ChunkId(1'000'000);
    auto chunk = model_.chunks.begin();
    std::advance(chunk, Draw(model_.chunks.size()));
    return ChunkId(chunk->first);
  }

  void TryCreate() {
    const size_t units = 1 + Draw(3);
    if (model_.created + units > kMostUnits) return;
    const ChunkId chunk = device_.Create(units * unit_).value();
    model_.chunks[chunk.value()] = {units, 0};
    model_.created += units;
  }

  void TryDestroy() {
    const ChunkId chunk = DrawChunk();
    const auto found = model_.chunks.find(chunk.value());
    const absl::Status status = device_.Destroy(chunk);
    if (found == model_.chunks.end()) {
      EXPECT_THAT(status, IsInvalidArgument());
    } else if (found->second.place >= 0) {
      EXPECT_THAT(status, IsFailedPrecondition());
    } else {
      EXPECT_THAT(status, IsOk());
      model_.created -= found->second.units;
      model_.chunks.erase(found);
    }
  }

  void TryMap() {
    const size_t place = Draw(kRangeUnits);
    std::vector<ChunkId> chunks;
    size_t units = 0;
    bool valid = true;
    for (size_t i = 1 + Draw(3); i > 0; --i) {
      chunks.push_back(DrawChunk());
      const auto found = model_.chunks.find(chunks.back().value());
      if (found == model_.chunks.end()) {
        valid = false;
        continue;
      }
      units += found->second.units;
      valid = valid && found->second.place < 0;
    }
    for (size_t i = 0; i < chunks.size(); ++i) {
      for (size_t j = 0; j < i; ++j) valid = valid && chunks[i] != chunks[j];
    }
    valid = valid && place + units <= kRangeUnits;
    for (size_t i = 0; valid && i < units; ++i) {
      valid = model_.owner[place + i] < 0;
    }
    const absl::Status status = device_.Map(base_ + place * unit_, chunks);
    if (!valid) {
      EXPECT_THAT(status, AnyOf(IsInvalidArgument(), IsFailedPrecondition()));
      return;
    }
    ASSERT_THAT(status, IsOk());
    size_t at = place;
    for (const ChunkId id : chunks) {
      Model::Chunk& chunk = model_.chunks[id.value()];
      chunk.place = static_cast<int>(at);
      for (size_t i = 0; i < chunk.units; ++i) model_.owner[at++] = id.value();
    }
  }

  void TryUnmap() {
    ASSERT_THAT(device_.Synchronize(Stream()), IsOk());  // fills are queued
    const size_t begin = Draw(kRangeUnits);
    const size_t end = begin + 1 + Draw(kRangeUnits - begin);
    bool valid = true;
    for (size_t i = begin; i < end; ++i) valid = valid && model_.owner[i] >= 0;
    if (valid) {
      const Model::Chunk& first = model_.chunks[model_.owner[begin]];
      const Model::Chunk& last = model_.chunks[model_.owner[end - 1]];
      valid = static_cast<size_t>(first.place) == begin &&
              static_cast<size_t>(last.place) + last.units == end;
    }
    const absl::Status status =
        device_.Unmap(base_ + begin * unit_, (end - begin) * unit_);
    if (!valid) {
      EXPECT_THAT(status, AnyOf(IsInvalidArgument(), IsFailedPrecondition()));
      return;
    }
    ASSERT_THAT(status, IsOk());
    for (size_t i = begin; i < end; ++i) {
      model_.chunks[model_.owner[i]].place = -1;
      model_.owner[i] = -1;
    }
  }

  // Writes a new value over a mapped chunk.
  void TryFill() {
    const auto found = model_.chunks.find(DrawChunk().value());
    if (found == model_.chunks.end() || found->second.place < 0) return;
    Model::Chunk& chunk = found->second;
    chunk.content = static_cast<uint8_t>(1 + Draw(255));
    EXPECT_THAT(device_.Fill(AddressOf(chunk), chunk.content,
                             chunk.units * unit_, Stream()),
                IsOk());
  }

  void CheckAll() {
    EXPECT_EQ(device_.memory_info().created, model_.created * unit_);
    for (const auto& [id, chunk] : model_.chunks) {
      if (chunk.place < 0 || chunk.content == 0) continue;
      const size_t last = chunk.units * unit_ - 1;
      EXPECT_TRUE(Holds(device_, AddressOf(chunk), 1, chunk.content));
      EXPECT_TRUE(Holds(device_, AddressOf(chunk) + last, 1, chunk.content));
    }
  }

  DeviceAddress AddressOf(const Model::Chunk& chunk) const {
    return base_ + static_cast<size_t>(chunk.place) * unit_;
  }

  Device& device_;
  const size_t unit_;
  const DeviceAddress base_;
  Model model_;
  std::mt19937_64 random_;
};

TEST_P(DeviceConformance, RandomVerbsAgreeWithAModel) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomVerbs verbs(*device_, seed);
    for (int step = 0; step < 1000 && !HasFailure(); ++step) verbs.Step();
  }
}

}  // namespace
}  // namespace rekindle
