// SPDX-License-Identifier: Apache-2.0
// Connected components of evicted storages, approximately, by union-find.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "rekindle/evictor/node.h"

namespace rekindle {

// The structure behind h_DTR_eq of "Dynamic Tensor Rematerialization" (Kirisame
// et al., ICLR 2021, appendix C): an evicted storage joins the components of
// its evicted neighbours; when it comes back its cost is subtracted, but the
// component is not split, as union-find cannot do that.
//
// Thread-compatible. Memory is linear in the largest number of storages that
// were evicted at one time, however long it runs.
class EvictedComponents {
 public:
  // Makes a component for a node that lost its bytes and joins it with those
  // of its evicted parents and children. REQUIRES: not in a component.
  void Add(Node& node, const Lineage& lineage);

  // Takes a node out. REQUIRES: in a component.
  void Remove(Node& node);

  static bool Contains(const Node& node) {
    return node.component != Node::kNowhere;
  }

  // Sum of the costs of the distinct components next to `node`.
  double NeighbourCost(const Node& node, const Lineage& lineage);

  // Entries in use, for tests of the memory bound.
  size_t entries() const { return live_ + dead_; }

 private:
  struct Entry {
    size_t parent;
    double cost = 0;     // of the component; valid in a root
    size_t members = 0;  // nodes in the component; valid in a root
    bool used = false;   // not on the free list
    bool live = false;   // a node points here
  };

  size_t Find(size_t entry);
  void Unite(size_t a, size_t b);
  size_t NewEntry(double cost);
  // Frees entries that no node needs.
  void Compact();

  std::vector<Entry> entries_;
  std::vector<size_t> free_;
  size_t live_ = 0;
  size_t dead_ = 0;
};

}  // namespace rekindle
