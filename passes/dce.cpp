// What nobody reads goes: nodes, captures of branches, invariants of loops, and assertions that the bounds of the symbols prove.

#include <algorithm>

#include "passes/inline_region.h"
#include "passes/rules.h"

namespace nnc {

namespace {

// Assertions about dims fail one by one, so each provable pair leaves by itself.
Result<bool> assert_dims_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  SymbolTable& s = g.symbols();
  const Shape &a = node.dims("a"), &b = node.dims("b");
  const std::string_view rel = node.s("rel");
  Shape left, right;
  for (size_t k = 0; k < a.size(); ++k) {
    Ternary holds = Ternary::kUnknown;
    if (rel == "eq" || rel == "ne") {
      holds = s.equal(a[k], b[k]);
      if (rel == "ne" && holds != Ternary::kUnknown) holds = holds == Ternary::kYes ? Ternary::kNo : Ternary::kYes;
    } else {
      holds = s.at_most(rel == "lt" ? s.add(a[k], 1) : a[k], b[k]);
    }
    if (holds == Ternary::kYes) continue;
    left.push_back(a[k]);
    right.push_back(b[k]);
  }
  if (left.size() == a.size()) return false;
  Builder at = rw.at(id);
  if (!left.empty()) {
    NNC_ASSIGN(const std::vector<ValueId> none, rebuild(at, node, {}, {{"a", left}, {"b", right}}));
    (void)none;
  }
  NNC_TRY(rw.replace(id, std::span<const ValueId>()));
  return true;
}

// The regions of a control op without the inputs that none of them reads.
RegionId without_inputs(Graph& g, RegionId from, const std::vector<bool>& drop) {
  const Graph& old = g.region(from);
  const RegionId id = g.add_region(old.name());
  Graph& region = g.region(id);
  std::map<ValueId, ValueId> map;
  for (size_t k = 0; k < old.inputs().size(); ++k) {
    const ValueId v = old.inputs()[k];
    if (!drop[k]) map[v] = region.add_input(old.type(v), old.value(v).name);
  }
  const Status copied = copy_nodes(region, old, map, {});
  NNC_CHECK(copied.ok(), "a copy of a region infers as the region did");
  std::vector<ValueId> outputs;
  for (ValueId v : old.outputs()) outputs.push_back(map.at(v));
  region.set_outputs(std::move(outputs));
  return id;
}

// Captures of an if, invariants of a loop: `first` operands stay whatever happens.
Result<bool> unread_capture_rule(Rewriter& rw, NodeId id) {
  Graph& g = rw.graph();
  const Node node = g.node(id);
  const bool loop = node.kind == OpKind::kLoop;
  const size_t first_operand = loop ? 2 + static_cast<size_t>(node.i("carried")) : 1;
  const size_t first_input = loop ? first_operand : 0;
  if (node.operands.size() <= first_operand) return false;
  const size_t captures = node.operands.size() - first_operand;
  std::vector<bool> drop(first_input + captures, false);
  std::vector<ValueId> operands(node.operands.begin(), node.operands.begin() + static_cast<std::ptrdiff_t>(first_operand));
  for (size_t k = 0; k < captures; ++k) {
    drop[first_input + k] = std::all_of(node.regions.begin(), node.regions.end(), [&](RegionId r) {
      const Graph& region = g.region(r);
      return region.value(region.inputs()[first_input + k]).uses.empty();
    });
    if (!drop[first_input + k]) operands.push_back(node.operands[first_operand + k]);
  }
  if (operands.size() == node.operands.size()) return false;
  std::vector<RegionId> regions;
  for (RegionId r : node.regions) regions.push_back(without_inputs(g, r, drop));
  Builder b = rw.at(id);
  NNC_ASSIGN(const std::vector<ValueId> v, b.ops(node.kind, std::move(operands), attr_list_of(node), std::move(regions)));
  NNC_TRY(rw.replace(id, v));
  return true;
}

constexpr RuleEntry kRules[] = {
    {OpKind::kAssertDims, assert_dims_rule},
    {OpKind::kIf, unread_capture_rule},
    {OpKind::kLoop, unread_capture_rule},
};

}  // namespace

Result<int64_t> run_dce(Module& m, PassContext& c) {
  int64_t changes = 0;
  for (const auto& e : m.entries) changes += Rewriter(*e->graph).remove_dead();
  NNC_ASSIGN(const int64_t n, apply_rules(m, c, kRules));
  return changes + n;
}

}  // namespace nnc
