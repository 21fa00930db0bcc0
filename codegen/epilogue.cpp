#include "codegen/epilogue.h"

namespace nnc {

namespace {
// The operand of `node` that continues the hero's chain, or -1. Elementwise nodes must have the chain operand's extents.
int chain_operand(const Graph& g, const Node& node, const std::map<ValueId, Coords>& at) {
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const ValueId v = node.operands[i];
    if (!v.valid() || !at.count(v)) continue;
    if (node.def().lowering == Lowering::kElem && g.type(v).shape == g.type(node.results[0]).shape) return static_cast<int>(i);
    if (node.kind == OpKind::kReshape || node.kind == OpKind::kTranspose) return static_cast<int>(i);
  }
  return -1;
}
}  // namespace

bool epilogue_possible(const Graph& g, ValueId hero) {
  std::map<ValueId, Coords> at;
  at[hero] = {};
  for (NodeId n : g.order()) {
    const Node& node = g.node(n);
    int chained = 0;
    for (ValueId v : node.operands)
      if (v.valid() && at.count(v)) {
        ++chained;
        // Views change coordinates: two chain operands must be at the same one.
        if (node.def().lowering != Lowering::kElem && node.kind != OpKind::kReshape && node.kind != OpKind::kTranspose) return false;
        if (node.def().lowering == Lowering::kElem && !(g.type(v).shape == g.type(node.results[0]).shape)) return false;
      }
    if (chained > 0) at[node.results[0]] = {};
  }
  for (ValueId v : g.outputs())
    if (!at.count(v)) return false;
  return true;
}

void Epilogue::place(const Coords& coords) {
  const Graph& g = body_.graph();
  at_.clear();
  at_[hero_] = coords;
  for (NodeId n = g.first(); n.valid(); n = g.node(n).next) {
    const Node& node = g.node(n);
    const int i = chain_operand(g, node, at_);
    if (i < 0) continue;
    const ValueId from = node.operands[static_cast<size_t>(i)];
    const Coords& c = at_.at(from);
    const Shape& shape = g.type(node.results[0]).shape;
    if (node.kind == OpKind::kReshape) {
      at_[node.results[0]] = body_.reshaped(c, g.type(from).shape, shape);
    } else if (node.kind == OpKind::kTranspose) {
      Coords permuted(shape.size());
      const std::vector<int64_t>& perm = node.ints("perm");
      for (size_t k = 0; k < shape.size(); ++k) permuted[k] = c[perm.empty() ? shape.size() - 1 - k : static_cast<size_t>(perm[k])];
      at_[node.results[0]] = std::move(permuted);
    } else {
      at_[node.results[0]] = c;
    }
  }
}

void Epilogue::store(Expr mask, bool nt) {
  const Graph& g = body_.graph();
  std::vector<Expr> values;
  for (ValueId v : g.outputs()) {
    NNC_CHECK(at_.count(v), "a group output that does not follow from its hero");
    // Views of the chain are looked through: the value at its source's own coordinates is the same element.
    ValueId source = v;
    while (source != hero_ && g.value(source).def.valid()) {
      const Node& def = g.node(g.value(source).def);
      if ((def.kind != OpKind::kReshape && def.kind != OpKind::kTranspose) || !at_.count(def.operands[0])) break;
      source = def.operands[0];
    }
    values.push_back(body_.emit(source, at_.at(source), mask));
  }
  for (size_t o = 0; o < values.size(); ++o) body_.store_output(static_cast<uint32_t>(o), at_.at(g.outputs()[o]), values[o], mask, nt);
}

}  // namespace nnc
