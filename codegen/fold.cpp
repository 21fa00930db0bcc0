#include "codegen/fold.h"

namespace nnc {

namespace {
std::vector<int64_t> fold_axes(const Node& n) {
  if (n.kind == OpKind::kArgReduce) return {n.i("axis")};
  return n.ints("axes");
}
}  // namespace

Result<FoldFacts> fold_facts(const Graph& g) {
  FoldFacts f;
  for (NodeId n : g.order()) {
    const Node& node = g.node(n);
    if (node.def().lowering != Lowering::kFold) continue;
    const Shape& s = g.type(node.operands[0]).shape;
    std::vector<bool> reduced(s.size(), false);
    for (int64_t a : fold_axes(node)) reduced[static_cast<size_t>(a)] = true;
    for (size_t i = 0; i < s.size(); ++i)
      if (s[i].is_const(1)) reduced[i] = false;
    if (f.folds.empty()) {
      f.shape = s;
      f.reduced = reduced;
    } else if (f.shape != s || f.reduced != reduced) {
      return Error(Code::kInternal, "a group holds folds of different shapes or axes");
    }
    f.folds.push_back(n);
  }
  return f;
}

}  // namespace nnc
