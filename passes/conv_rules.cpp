#include "passes/conv_rules.h"

namespace nnc {

namespace {

bool is_zero_at(const std::vector<int64_t>& v, size_t k) { return v.empty() || v[k] == 0; }

}  // namespace

Result<bool> conv_unit_axis_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  if (node.s("layout") != "nchw" || node.has_attr("w_format")) return false;
  Shape x = g.type(node.operands[0]).shape, w = g.type(node.operands[1]).shape;
  const Shape to = g.type(node.results[0]).shape;
  if (x.size() != w.size()) return false;
  AttrList changes;
  for (const char* name : {"strides", "pads_begin", "pads_end", "dilations"}) changes.push_back({name, node.ints(name)});
  bool changed = false;
  for (size_t k = x.size() - 2; k-- > 0 && x.size() > 3;) {
    if (!x[k + 2].is_const(1) || !w[k + 2].is_const(1) || !is_zero_at(node.ints("pads_begin"), k) || !is_zero_at(node.ints("pads_end"), k))
      continue;
    x.erase(x.begin() + static_cast<std::ptrdiff_t>(k) + 2);
    w.erase(w.begin() + static_cast<std::ptrdiff_t>(k) + 2);
    for (NamedAttr& a : changes) {
      auto& v = std::get<std::vector<int64_t>>(a.value);
      if (!v.empty()) v.erase(v.begin() + static_cast<std::ptrdiff_t>(k));
    }
    changed = true;
  }
  if (!changed) return false;
  Builder b = rw.at(id);
  std::vector<ValueId> operands = node.operands;
  NNC_ASSIGN(operands[0], b.reshape(operands[0], std::move(x)));
  NNC_ASSIGN(operands[1], b.reshape(operands[1], std::move(w)));
  NNC_ASSIGN(const std::vector<ValueId> y, rebuild(b, node, std::move(operands), std::move(changes)));
  NNC_ASSIGN(const ValueId v, b.reshape(y[0], to));
  return replace_if_same(rw, id, v);
}

}  // namespace nnc
