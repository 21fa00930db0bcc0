#pragma once
// Rewriter: the only way a pass changes a graph. `replace` checks that the new values have compatible types, redirects all uses, gives what
// was appended since `at` the locations of all nodes that die by it, erases the replaced node, counts, and can stop after N rewrites
// (bisection). A pass walks over `order()` and skips what is no longer live.

#include <span>

#include "ir/builder.h"

namespace nnc {

class Rewriter {
 public:
  Rewriter(Graph& graph, int64_t* budget = nullptr) : graph_(graph), budget_(budget) {}
  Graph& graph() { return graph_; }
  // A builder that inserts before `root` with root's location.
  Builder at(NodeId root);
  // False when the rewrite budget is used up: the rule must return without change.
  bool allowed() const { return budget_ == nullptr || *budget_ > 0; }
  // One per result; none for a node without results, which is then removed. A replacement is defined before `root` and does not use it.
  // Where its extents are spelled otherwise than the result's (never known to differ), the users' types are inferred again.
  Status replace(NodeId root, std::span<const ValueId> replacements);
  Status replace(NodeId root, ValueId replacement);
  int64_t count() const { return count_; }
  // Removes nodes without uses and effects, in this graph and its regions; number removed. A `bind_dims` whose symbols nobody needs has no
  // effect.
  int64_t remove_dead();

 private:
  Status check_replacement(NodeId root, std::span<const ValueId> replacements) const;
  void carry_locations(NodeId root);
  Status infer_users(ValueId changed);
  Graph& graph_;
  int64_t* budget_;
  int64_t count_ = 0;
  size_t mark_ = 0;  // nodes from this number on were appended for the rewrite at hand
};

}  // namespace nnc
