// SPDX-License-Identifier: Apache-2.0
// Connected components of evicted storages, approximately, by union-find.
#pragma once

#include <cstddef>
#include <vector>

#include "rekindle/evictor/neighbourhood.h"

namespace rekindle {

// The structure behind h_DTR_eq of "Dynamic Tensor Rematerialization" (Kirisame
// et al., ICLR 2021, appendix C): an evicted storage joins the components of
// its evicted neighbours; when it comes back its cost is subtracted, but the
// component is not split, as union-find cannot do that.
//
// Memory is linear in the largest number of storages that were evicted at one
// time, however long it runs.
class EvictedComponents : public Neighbourhood {
 public:
  // Sum of the costs of the distinct components next to `node`.
  double CostAround(const Node& node) override;

  // Makes a component for a node and joins it with those of its evicted
  // parents and children. REQUIRES: not in a component.
  void OnEvicted(Node& node) override;

  // Takes a node out, if it is in a component.
  void OnResident(Node& node) override;
  void OnForgotten(Node& node) override { OnResident(node); }

  // Visits the neighbours of all members of the components that became
  // cheaper.
  void Refresh() override;

  // Entries in use, for tests of the memory bound.
  size_t entries() const { return live_ + dead_; }

 private:
  struct Entry {
    size_t parent;
    double cost = 0;       // of the component; valid in a root
    size_t members = 0;    // nodes in the component; valid in a root
    size_t next = 0;       // in the ring of all entries of the component
    Node* node = nullptr;  // null if it was taken out
    bool used = false;     // not on the free list
    bool cheaper = false;  // the component is in cheaper_; valid in a root
  };

  static bool Contains(const Node& node) {
    return node.component != Node::kNowhere;
  }
  size_t Find(size_t entry);
  void Unite(size_t a, size_t b);
  size_t NewEntry(Node& node);
  void MarkCheaper(size_t root);
  void ImproveAround(const Node& node);
  // Frees entries that no node needs.
  void Compact();

  std::vector<Entry> entries_;
  std::vector<size_t> free_;
  std::vector<size_t> cheaper_;  // one entry each of components to refresh
  std::vector<size_t> first_;    // by root: an entry of its ring, in Compact
  size_t live_ = 0;
  size_t dead_ = 0;
};

}  // namespace rekindle
