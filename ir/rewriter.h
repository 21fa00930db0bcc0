#pragma once
// Rewriter: the only way a pass changes a graph. `replace` checks that the new value has a compatible type, carries the location of the replaced node
// to what was appended since `begin`, redirects all uses, counts, and can stop after N rewrites (bisection).

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
  Status replace(NodeId root, std::span<const ValueId> replacements);  // one per result
  Status replace(NodeId root, ValueId replacement);
  int64_t count() const { return count_; }
  // Removes nodes without uses and effects, in this graph and its regions; number removed.
  int64_t remove_dead();

 private:
  Graph& graph_;
  int64_t* budget_;
  int64_t count_ = 0;
};

}  // namespace nnc
