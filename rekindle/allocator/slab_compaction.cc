// SPDX-License-Identifier: Apache-2.0
#include "rekindle/allocator/slab_compaction.h"

#include <algorithm>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace rekindle {
namespace {

// Pages that are only of use together: those of one chunk, or one page.
struct Group {
  std::vector<const PageUse*> pages;
  size_t live = 0;

  void Add(const PageUse& page) {
    pages.push_back(&page);
    live += page.live;
  }
};

void SortByBlocks(std::vector<Group>& groups) {
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.live != b.live) return a.live < b.live;
    return a.pages.front()->address > b.pages.front()->address;
  });
}

class Chooser {
 public:
  Chooser(size_t page_bytes, size_t bytes,
          absl::FunctionRef<bool(DeviceAddress)> movable)
      : page_bytes_(page_bytes), bytes_(bytes), movable_(movable) {}

  // A page that stays, unless it is chosen.
  void AddRoom(const PageUse& page) {
    room_[page.size_class] += page.slots - page.live;
  }

  bool done() const { return chosen_.size() * page_bytes_ >= bytes_; }
  // Chooses all pages of the group, if that can be.
  void Consider(const Group& group) {
    if (done() || !TakeRoom(group)) return;
    for (const PageUse* page : group.pages) {
      if (movable_(page->address)) continue;
      for (const PageUse* taken : group.pages) {
        room_[taken->size_class] += taken->slots;
      }
      return;
    }
    for (const PageUse* page : group.pages) chosen_.push_back(page->address);
  }

  const std::vector<DeviceAddress>& chosen() const { return chosen_; }

 private:
  // A page that goes takes its own free slots with it and fills as many others
  // as it has blocks: all its slots together.
  bool TakeRoom(const Group& group) {
    for (size_t i = 0; i < group.pages.size(); ++i) {
      const PageUse& page = *group.pages[i];
      if (room_[page.size_class] >= page.slots) {
        room_[page.size_class] -= page.slots;
        continue;
      }
      while (i-- > 0) {
        room_[group.pages[i]->size_class] += group.pages[i]->slots;
      }
      return false;
    }
    return true;
  }

  const size_t page_bytes_;
  const size_t bytes_;
  const absl::FunctionRef<bool(DeviceAddress)> movable_;
  absl::flat_hash_map<size_t, size_t> room_;  // free slots by class
  std::vector<DeviceAddress> chosen_;
};

}  // namespace

std::vector<DeviceAddress> PagesToEmpty(
    absl::Span<const PageUse> pages, size_t page_bytes, size_t bytes,
    absl::FunctionRef<bool(DeviceAddress)> movable) {
  Chooser chooser(page_bytes, bytes, movable);
  absl::btree_map<DeviceAddress, Group> by_chunk;
  for (const PageUse& page : pages) {
    chooser.AddRoom(page);
    if (page.chunk != 0) by_chunk[page.chunk].Add(page);
  }
  std::vector<Group> groups;
  if (bytes > page_bytes) {
    for (const auto& [chunk, group] : by_chunk) groups.push_back(group);
    SortByBlocks(groups);
    for (const Group& group : groups) chooser.Consider(group);
    groups.clear();
  }
  const std::vector<DeviceAddress>& chosen = chooser.chosen();
  const absl::flat_hash_set<DeviceAddress> gone(chosen.begin(), chosen.end());
  for (const PageUse& page : pages) {
    if (!gone.contains(page.address)) groups.emplace_back().Add(page);
  }
  SortByBlocks(groups);
  for (const Group& group : groups) chooser.Consider(group);
  return chooser.chosen();
}

}  // namespace rekindle
