#include "passes/rules.h"

#include <algorithm>
#include <array>

#include "ir/support/text.h"

namespace nnc {

namespace {

void collect_graphs(Graph& g, std::vector<Graph*>& out) {
  for (NodeId n = g.first(); n.valid(); n = g.node(n).next) {
    for (RegionId r : g.node(n).regions) collect_graphs(g.region(r), out);
  }
  out.push_back(&g);
}

using RulesByKind = std::array<std::vector<Rule>, static_cast<size_t>(OpKind::kCount)>;

bool is_wanted(const Graph& g, const Node& node) {
  if (node.results.empty()) return true;
  return std::any_of(node.results.begin(), node.results.end(), [&](ValueId v) { return !g.value(v).uses.empty(); });
}

Result<int64_t> sweep(Graph& g, PassContext& c, const RulesByKind& rules) {
  Rewriter rw(g, c.rewrites_left);
  int64_t inside = 0;  // changes that a rule made to a node's regions
  for (NodeId id : g.order()) {
    for (Rule rule : rules[static_cast<size_t>(g.node(id).kind)]) {
      if (!rw.allowed() || !g.is_live(id) || !is_wanted(g, g.node(id))) break;
      rw.at(id);  // what is appended from here on belongs to this rule
      const int64_t before = rw.count();
      NNC_ASSIGN(const bool changed, rule(rw, id));
      inside += changed && rw.count() == before;
    }
  }
  rw.remove_dead();
  return rw.count() + inside;
}

}  // namespace

std::vector<Graph*> all_graphs(Module& m) {
  std::vector<Graph*> out;
  for (const auto& e : m.entries) collect_graphs(*e->graph, out);
  return out;
}

Result<int64_t> apply_rules(Module& m, PassContext& c, std::span<const RuleEntry> rules) {
  RulesByKind by_kind;
  for (const RuleEntry& r : rules) {
    if (r.root != OpKind::kCount) {
      by_kind[static_cast<size_t>(r.root)].push_back(r.rule);
      continue;
    }
    for (std::vector<Rule>& list : by_kind) list.push_back(r.rule);
  }
  constexpr int kSweeps = 200;
  int64_t total = 0;
  for (int k = 0; k < kSweeps; ++k) {
    int64_t changes = 0;
    // A rule may inline or drop regions, so the list of graphs is made anew for each sweep and a graph's regions come first.
    for (const auto& e : m.entries) {
      std::vector<Graph*> graphs;
      collect_graphs(*e->graph, graphs);
      for (Graph* g : graphs) {
        NNC_ASSIGN(const int64_t n, sweep(*g, c, by_kind));
        changes += n;
      }
    }
    total += changes;
    if (changes == 0) return total;
  }
  return Error(Code::kInternal, cat("rules did not settle in ", kSweeps, " sweeps: two of them undo each other"));
}

Result<bool> replace_if_same(Rewriter& rw, NodeId root, ValueId replacement) {
  const ValueId result = rw.graph().node(root).results[0];
  if (rw.graph().type(replacement) != rw.graph().type(result)) return false;
  NNC_TRY(rw.replace(root, replacement));
  return true;
}

AttrList attr_list_of(const Node& node) {
  AttrList list;
  for (size_t k = 0; k < node.attrs.size(); ++k) {
    if (node.attrs[k].index() != 0) list.push_back({node.def().attrs[k].name, node.attrs[k]});
  }
  return list;
}

Result<std::vector<ValueId>> rebuild(Builder& b, const Node& node, std::vector<ValueId> operands, AttrList changes) {
  AttrList attrs = attr_list_of(node);
  for (NamedAttr& change : changes) {
    const auto it = std::find_if(attrs.begin(), attrs.end(), [&](const NamedAttr& a) { return a.name == change.name; });
    if (it == attrs.end())
      attrs.push_back(std::move(change));
    else
      it->value = std::move(change.value);
  }
  return b.ops(node.kind, std::move(operands), std::move(attrs), node.regions);
}

Dim element_count(Graph& g, ValueId v) {
  const Shape shape = g.type(v).shape;
  return g.symbols().mul(shape);
}

std::optional<double> uniform_value(const Graph& g, ValueId v) {
  const Node* n = def_of(g, v);
  while (n != nullptr && (n->kind == OpKind::kBroadcastTo || n->kind == OpKind::kReshape)) n = def_of(g, n->operands[0]);
  return n != nullptr && n->kind == OpKind::kConstant ? scalar_value(g, n->results[0]) : std::nullopt;
}

bool is_uniform(const Graph& g, ValueId x, double v) {
  if (!g.type(x).is_tensor() || !is_float(g.type(x).dtype)) return false;
  const std::optional<double> got = uniform_value(g, x);
  return got && *got == round_to(g.type(x).dtype, v);
}

std::optional<ValueId> other_operand(const Node& node, ValueId v) {
  if (node.operands.size() != 2) return std::nullopt;
  if (node.operands[0] == v) return node.operands[1];
  if (node.operands[1] == v) return node.operands[0];
  return std::nullopt;
}

}  // namespace nnc
