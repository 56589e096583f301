// SPDX-License-Identifier: Apache-2.0
#include "rekindle/evictor/kinetic_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "rekindle/base/check.h"

namespace rekindle {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

}  // namespace

KineticIndex::Entry KineticIndex::MakeEntry(const Node& node, Line line,
                                            size_t slot) {
  Entry entry;
  entry.slope = line.slope / node.keep_factor;
  entry.origin = line.origin;
  entry.until = kForever;
  entry.slot = static_cast<uint32_t>(slot);
  entry.rank = node.last_resort ? kLastResort : kUsual;
  if (line.slope == std::numeric_limits<double>::infinity()) {
    // Comparing heights would give inf - inf.
    entry.slope = 0;
    if (!node.last_resort) entry.rank = kCostsNothing;
  }
  return entry;
}

double KineticIndex::Height(const Entry& entry) const {
  return Line{entry.slope, entry.origin}.At(now_);
}

bool KineticIndex::Beats(const Entry& a, const Entry& b) const {
  if (a.rank != b.rank) return a.rank > b.rank;
  if (a.rank == kNobody) return false;
  const double height_a = Height(a);
  const double height_b = Height(b);
  if (height_a != height_b) return height_a > height_b;
  return WinsTie(*nodes_[a.slot], *nodes_[b.slot]);
}

// When `other`, which is not higher now, may come to be. Rather too early: then
// it is played for nothing, and the next time found is better.
double KineticIndex::OvertakenAt(const Entry& winner,
                                 const Entry& other) const {
  if (other.rank < winner.rank || other.slope <= winner.slope) return kForever;
  constexpr double kCareful = 1 - 1e-12;
  const double gap = Height(winner) - Height(other);
  const double wait = gap / (other.slope - winner.slope) * kCareful;
  return std::max(now_ + wait, std::nextafter(now_, kForever));
}

KineticIndex::Entry KineticIndex::Play(const Entry* siblings) const {
  const Entry* winner = siblings;
  for (size_t i = 1; i < kArity; ++i) {
    if (Beats(siblings[i], *winner)) winner = &siblings[i];
  }
  Entry result = *winner;
  for (size_t i = 0; i < kArity; ++i) {
    const Entry& other = siblings[i];
    result.until = std::min(result.until, other.until);
    if (&other == winner) continue;
    result.until = std::min(result.until, OvertakenAt(*winner, other));
  }
  return result;
}

void KineticIndex::Set(size_t slot, const Entry& entry) {
  levels_[0][slot] = entry;
  size_t position = slot;
  for (size_t level = 1; level < levels_.size(); ++level) {
    position /= kArity;
    Entry& above = levels_[level][position];
    const Entry played = Play(&levels_[level - 1][position * kArity]);
    if (played == above) return;
    above = played;
  }
}

void KineticIndex::Advance(size_t level, size_t position) {
  Entry& entry = levels_[level][position];
  if (level == 0 || entry.until > now_) return;
  for (size_t i = 0; i < kArity; ++i) {
    Advance(level - 1, position * kArity + i);
  }
  entry = Play(&levels_[level - 1][position * kArity]);
}

// Room for more slots: each level that is full grows to twice its size, and the
// root moves up when it has siblings.
void KineticIndex::Grow() {
  Entry nobody;
  nobody.until = kForever;
  const size_t slots = std::max(kArity, 2 * nodes_.size());
  size_t size = (slots + kArity - 1) / kArity * kArity;
  for (size_t level = 0;; ++level) {
    if (level == levels_.size()) levels_.emplace_back();
    std::vector<Entry>& entries = levels_[level];
    const size_t old = entries.size();
    entries.resize(size, nobody);
    // What was the root has siblings now, or the level is new.
    if (level > 0) {
      for (size_t i = old == 0 ? 0 : old - 1; i < size; ++i) {
        if (i * kArity >= levels_[level - 1].size()) break;
        entries[i] = Play(&levels_[level - 1][i * kArity]);
      }
    }
    if (size == 1) break;
    size = (size + kArity - 1) / kArity;
    if (size > 1) size = (size + kArity - 1) / kArity * kArity;
  }
}

void KineticIndex::Insert(Node& node) {
  RK_CHECK(!Contains(node), "inserted twice");
  node.index_position = entering_.size() | kEntering;
  entering_.push_back(&node);
}

void KineticIndex::Enter(Node& node) {
  if (free_.empty()) {
    if (levels_.empty() || nodes_.size() == levels_[0].size()) Grow();
    free_.push_back(nodes_.size());
    nodes_.push_back(nullptr);
  }
  const size_t slot = free_.back();
  free_.pop_back();
  nodes_[slot] = &node;
  node.index_position = slot;
  Set(slot, MakeEntry(node, policy_.BoundOf(node), slot));
}

void KineticIndex::Erase(Node& node) {
  RK_CHECK(Contains(node), "not in the index");
  const size_t position = std::exchange(node.index_position, Node::kNowhere);
  if ((position & kEntering) != 0) {
    Node* const last = entering_.back();
    entering_.pop_back();
    if (last == &node) return;
    entering_[position & ~kEntering] = last;
    last->index_position = position;
    return;
  }
  Entry nobody;
  nobody.until = kForever;
  Set(position, nobody);
  nodes_[position] = nullptr;
  free_.push_back(position);
}

void KineticIndex::Improve(Node& node) {
  const size_t slot = node.index_position;
  if ((slot & kEntering) != 0) return;
  Set(slot, MakeEntry(node, policy_.BoundOf(node), slot));
}

Node* KineticIndex::Best(double now) {
  if (size() == 0) return nullptr;
  policy_.Refresh();
  now_ = std::max(now_, policy_.TimeOf(now));
  for (Node* node : std::exchange(entering_, {})) Enter(*node);
  const size_t top = levels_.size() - 1;
  while (true) {
    Advance(top, 0);
    const Entry& root = levels_[top][0];
    Node& node = *nodes_[root.slot];
    const Entry entry = MakeEntry(node, policy_.LineOf(node), root.slot);
    if (entry == levels_[0][root.slot]) return &node;
    Set(root.slot, entry);
  }
}

void KineticIndex::CheckInvariants() const {
  for (size_t i = 0; i < entering_.size(); ++i) {
    RK_CHECK(entering_[i]->index_position == (i | kEntering), "entering");
  }
  for (size_t slot = 0; slot < nodes_.size(); ++slot) {
    const Entry& entry = levels_[0][slot];
    RK_CHECK((nodes_[slot] == nullptr) == (entry.rank == kNobody), "slots");
    RK_CHECK(nodes_[slot] == nullptr || nodes_[slot]->index_position == slot,
             "positions");
  }
  for (size_t level = 1; level < levels_.size(); ++level) {
    for (size_t i = 0; i < levels_[level].size(); ++i) {
      if (i * kArity >= levels_[level - 1].size()) {
        RK_CHECK(levels_[level][i].rank == kNobody, "an entry over nothing");
        continue;
      }
      const Entry& entry = levels_[level][i];
      const Entry played = Play(&levels_[level - 1][i * kArity]);
      RK_CHECK(entry.slot == played.slot && entry.rank == played.rank,
               "not the winner");
      RK_CHECK(entry.until > now_, "its time has passed");
    }
  }
}

}  // namespace rekindle
