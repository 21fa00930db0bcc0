#include "ir/rewriter.h"

#include <algorithm>

#include "ir/support/text.h"
#include "ir/symbol_use.h"

namespace nnc {

namespace {

bool has_effect(const Graph& g, const Node& node) {
  if (node.def().traits & kEffect) return true;
  for (RegionId r : node.regions) {
    const Graph& region = g.region(r);
    for (NodeId n = region.first(); n.valid(); n = region.node(n).next) {
      if (has_effect(region, region.node(n))) return true;
    }
  }
  return false;
}

bool type_speaks_of(const SymbolTable& table, const Type& t, const std::vector<SymbolId>& symbols) {
  return std::any_of(t.shape.begin(), t.shape.end(), [&](const Dim& d) {
    return std::any_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return table.depends_on(d, s); });
  });
}

bool node_speaks_of(const Graph& g, const Node& node, const std::vector<SymbolId>& symbols);

bool graph_speaks_of(const Graph& g, const std::vector<SymbolId>& symbols, NodeId except) {
  for (ValueId v : g.inputs()) {
    if (type_speaks_of(g.symbols(), g.type(v), symbols)) return true;
  }
  for (NodeId n = g.first(); n.valid(); n = g.node(n).next) {
    if (n != except && node_speaks_of(g, g.node(n), symbols)) return true;
  }
  return false;
}

bool node_speaks_of(const Graph& g, const Node& node, const std::vector<SymbolId>& symbols) {
  for (ValueId v : node.results) {
    if (type_speaks_of(g.symbols(), g.type(v), symbols)) return true;
  }
  for (const AttrValue& a : node.attrs) {
    const auto* dims = std::get_if<Shape>(&a);
    if (dims != nullptr && type_speaks_of(g.symbols(), Type::tensor(DType::kI64, *dims), symbols)) return true;
  }
  return std::any_of(node.regions.begin(), node.regions.end(), [&](RegionId r) { return graph_speaks_of(g.region(r), symbols, {}); });
}

// A node that binds symbols lives as long as one of them is spoken of, though nobody reads its results.
bool is_dead(const Graph& g, NodeId id) {
  const Node& node = g.node(id);
  for (ValueId r : node.results) {
    if (!g.value(r).uses.empty()) return false;
  }
  if (node.kind != OpKind::kBindDims && has_effect(g, node)) return false;
  std::vector<SymbolId> bound;
  for (const AttrValue& a : node.attrs) {
    if (const auto* s = std::get_if<std::vector<SymbolId>>(&a)) bound.insert(bound.end(), s->begin(), s->end());
  }
  return bound.empty() || !graph_speaks_of(g, bound, id);
}

}  // namespace

Builder Rewriter::at(NodeId root) { return Builder(graph_, graph_.node(root).loc, root); }

Status Rewriter::replace(NodeId root, std::span<const ValueId> replacements) {
  NNC_CHECK(allowed(), "a rule looks at the rewrite budget before it appends");
  const std::vector<ValueId> results = graph_.node(root).results;
  NNC_CHECK(results.size() == replacements.size(), "one replacement per result");
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueId to = replacements[k];
    if (!to.valid()) {
      NNC_CHECK(graph_.value(results[k]).uses.empty(), "a used result needs a replacement");
      continue;
    }
    if (graph_.type(to) != graph_.type(results[k])) {
      return error_at(graph_, graph_.node(root),
                      Error(Code::kInternal, cat("a rewrite would change the type of result ", k, " from ", type_str(graph_.symbols(), graph_.type(results[k])), " to ",
                                                 type_str(graph_.symbols(), graph_.type(to)))));
    }
  }
  for (size_t k = 0; k < results.size(); ++k) {
    const ValueId to = replacements[k];
    if (!to.valid()) continue;
    graph_.redirect(results[k], to);
    if (graph_.value(to).name.empty()) graph_.set_value_name(to, graph_.value(results[k]).name);
    if (!graph_.shape_value(to).known && graph_.shape_value(results[k]).known) graph_.set_shape_value(to, graph_.shape_value(results[k]));
  }
  if (budget_ != nullptr) --*budget_;
  ++count_;
  return {};
}

Status Rewriter::replace(NodeId root, ValueId replacement) { return replace(root, std::span<const ValueId>(&replacement, 1)); }

int64_t Rewriter::remove_dead() {
  int64_t removed = 0;
  const std::vector<NodeId> order = graph_.order();
  for (size_t k = order.size(); k-- > 0;) {
    if (is_dead(graph_, order[k])) {
      graph_.erase(order[k]);
      ++removed;
      continue;
    }
    const std::vector<RegionId> regions = graph_.node(order[k]).regions;
    for (RegionId r : regions) removed += Rewriter(graph_.region(r)).remove_dead();
  }
  return removed;
}

}  // namespace nnc
