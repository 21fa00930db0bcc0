// Composites that no kernel skeleton takes whole become the ops they are made of: norms, softmax, losses, and attention where the target
// has no kernel for it. What they become is grouped again by fusion, so that each still is one kernel.

#include "passes/rules.h"

namespace nnc {

bool attention_fits(Graph& g, const Node& attention, const TargetFacts& target) {
  if (!target.cpu && g.type(attention.results[0]).dtype == DType::kF64) return false;
  const Shape &q = g.type(attention.operands[0]).shape, &k = g.type(attention.operands[1]).shape, &v = g.type(attention.operands[2]).shape;
  SymbolTable& s = g.symbols();
  const auto within = [&](const Dim& d, int64_t least) {
    return d.is_const() && d.constant() >= least && d.constant() <= target.attention_width;
  };
  if (!within(q[3], 2) || !within(v[3], 1) || s.upper(k[2]) < 2) return false;
  // One kernel checks no extents; the spelled form fails where they turn out to differ.
  const auto same = [&](const Dim& a, const Dim& b) { return s.equal(a, b) == Ternary::kYes; };
  if (!same(q[0], k[0]) || !same(q[0], v[0]) || !same(k[1], v[1]) || !same(k[2], v[2]) || !same(q[3], k[3])) return false;
  const auto operand = [&](size_t i) {
    return i < attention.operands.size() && attention.operands[i].valid() ? &g.type(attention.operands[i]).shape : nullptr;
  };
  if (const Shape* mask = operand(3)) {
    const Shape scores{q[0], q[1], q[2], k[2]};
    for (size_t i = 0; i < mask->size(); ++i)
      if (const Dim& d = (*mask)[mask->size() - 1 - i]; !d.is_const(1) && !same(d, scores[scores.size() - 1 - i])) return false;
  }
  if (const Shape* lengths = operand(4); lengths != nullptr && !same((*lengths)[0], q[0])) return false;
  if (s.equal(q[1], k[1]) == Ternary::kYes) return true;
  const std::optional<Dim> repeat = s.div_exact(q[1], k[1]);
  return repeat && repeat->is_const();
}

namespace {

Result<int64_t> expand(Graph& g, PassContext& c) {
  Rewriter rw(g, c.rewrites_left);
  // An expansion may hold composites itself.
  for (bool more = true; more;) {
    more = false;
    for (NodeId id : g.order()) {
      const Node& node = g.node(id);
      const OpDef& def = node.def();
      const bool composite = def.lowering == Lowering::kExpand ||
                             (node.kind == OpKind::kAttention && !(c.target != nullptr && attention_fits(g, node, *c.target)));
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
