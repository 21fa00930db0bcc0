// Composites that no kernel skeleton takes whole become the ops they are made of: norms, softmax, losses, and attention where the target
// has no kernel for it. What they become is grouped again by fusion, so that each still is one kernel.

#include "passes/rules.h"

namespace nnc {

namespace {

Result<int64_t> expand(Graph& g, PassContext& c) {
  const bool attention_kernel = c.target != nullptr && c.target->fused_attention;
  Rewriter rw(g, c.rewrites_left);
  // An expansion may hold composites itself.
  for (bool more = true; more;) {
    more = false;
    for (NodeId id : g.order()) {
      const Node& node = g.node(id);
      const OpDef& def = node.def();
      const bool composite = def.lowering == Lowering::kExpand || (node.kind == OpKind::kAttention && !attention_kernel);
      if (!composite || def.expand == nullptr || !rw.allowed()) continue;
      Builder b = rw.at(id);
      std::vector<ValueId> results;
      if (Status s = def.expand(b, g, id, &results); !s.ok()) return error_at(g, g.node(id), std::move(s).error());
      NNC_TRY(rw.replace(id, results));
      more = true;
    }
  }
  return rw.count();
}

}  // namespace

Result<int64_t> run_expand(Module& m, PassContext& c) {
  int64_t changes = 0;
  for (Graph* g : all_graphs(m)) {
    NNC_ASSIGN(const int64_t n, expand(*g, c));
    changes += n;
  }
  return changes;
}

}  // namespace nnc
