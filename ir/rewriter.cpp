#include "ir/rewriter.h"

#include <set>

#include "ir/support/text.h"

namespace nnc {

Builder Rewriter::at(NodeId root) {
  mark_ = graph_.node_capacity();
  return Builder(graph_, graph_.node(root).loc, root);
}

namespace {

// False only where the extents surely differ, or kind, dtype or rank do.
bool compatible(const SymbolTable& symbols, const Type& a, const Type& b) {
  if (a == b) return true;
  if (a.kind != b.kind || a.dtype != b.dtype || a.has_shape != b.has_shape || a.rank() != b.rank()) return false;
  for (size_t k = 0; k < a.shape.size(); ++k) {
    if (symbols.equal(a.shape[k], b.shape[k]) == Ternary::kNo) return false;
  }
  return true;
}

}  // namespace

Status Rewriter::check_replacement(NodeId root, std::span<const ValueId> replacements) const {
  const Node& n = graph_.node(root);
  NNC_CHECK(graph_.is_live(root), "a node is replaced once");
  NNC_CHECK(allowed(), "a rule asks whether a rewrite is allowed before it makes one");
  NNC_CHECK(replacements.size() == n.results.size(), "one replacement per result");
  for (size_t k = 0; k < replacements.size(); ++k) {
    const Type &from = graph_.type(n.results[k]), &to = graph_.type(replacements[k]);
    if (compatible(graph_.symbols(), from, to)) continue;
    return error_at(graph_, n,
                    Error(Code::kInternal, cat("a rewrite replaces result ", k, ", ", type_str(graph_.symbols(), from), ", by ",
                                               type_str(graph_.symbols(), to))));
  }
  for (size_t k = mark_; k < graph_.node_capacity(); ++k) {
    if (!graph_.is_live(NodeId(k))) continue;
    for (ValueId v : graph_.node(NodeId(k)).operands) {
      for (ValueId r : n.results) NNC_CHECK(v != r, "a replacement does not use what it replaces");
    }
  }
  return {};
}

// What the new nodes compute stands for the root and for every producer that nothing but the root used.
void Rewriter::carry_locations(NodeId root) {
  if (mark_ >= graph_.node_capacity()) return;
  std::set<NodeId> dying = {root};
  std::vector<NodeId> todo = {root};
  std::vector<LocId> locs;
  while (!todo.empty()) {
    const NodeId id = todo.back();
    todo.pop_back();
    locs.push_back(graph_.node(id).loc);
    for (ValueId v : graph_.node(id).operands) {
      const NodeId def = v.valid() ? graph_.value(v).def : NodeId();
      if (!def.valid() || dying.count(def) > 0 || (graph_.node(def).def().traits & kEffect) != 0 ||
          graph_.node(def).kind == OpKind::kConstant)
        continue;
      bool dies = true;
      for (ValueId r : graph_.node(def).results) {
        for (const Use& use : graph_.value(r).uses) dies = dies && use.node.valid() && dying.count(use.node) > 0;
      }
      if (dies && dying.insert(def).second) todo.push_back(def);
    }
  }
  const LocId fused = graph_.module().fuse_locs(locs);
  for (size_t k = mark_; k < graph_.node_capacity(); ++k) {
    if (graph_.is_live(NodeId(k))) graph_.nodes_[NodeId(k)].loc = fused;
  }
}

Status Rewriter::infer_users(ValueId changed) {
  std::vector<ValueId> todo = {changed};
  while (!todo.empty()) {
    const ValueId v = todo.back();
    todo.pop_back();
    std::set<NodeId> users;
    for (const Use& use : graph_.value(v).uses) {
      if (use.node.valid()) users.insert(use.node);
    }
    for (NodeId id : users) {
      const Node& n = graph_.node(id);
      if (!n.regions.empty()) continue;  // a region's inputs keep their types: the caller gives it values of just these
      std::vector<Type> types;
      std::vector<ShapeValue> values;
      if (Status s = infer_node(graph_, n, &types, &values); !s.ok()) return error_at(graph_, n, std::move(s).error());
      for (size_t k = 0; k < types.size(); ++k) {
        if (k < values.size() && values[k].known) graph_.set_shape_value(n.results[k], std::move(values[k]));
        if (types[k] == graph_.type(n.results[k])) continue;
        graph_.set_type(n.results[k], std::move(types[k]));
        todo.push_back(n.results[k]);
      }
    }
  }
  return {};
}

Status Rewriter::replace(NodeId root, std::span<const ValueId> replacements) {
  NNC_TRY(check_replacement(root, replacements));
  const std::vector<ValueId> results = graph_.node(root).results;
  for (size_t k = 0; k < results.size(); ++k) graph_.redirect(results[k], replacements[k]);
  carry_locations(root);
  graph_.erase(root);
  mark_ = graph_.node_capacity();
  ++count_;
  if (budget_ != nullptr) --*budget_;
  for (size_t k = 0; k < results.size(); ++k) {
    const Value old = graph_.value(results[k]);
    const ValueId now = replacements[k];
    if (graph_.value(now).name.empty() && !old.name.empty()) graph_.set_value_name(now, old.name);
    const bool learned = graph_.shape_value(results[k]).known && !graph_.shape_value(now).known;
    if (learned) graph_.set_shape_value(now, graph_.shape_value(results[k]));
    if (graph_.type(now) != old.type) NNC_TRY(infer_users(now));
  }
  return {};
}

Status Rewriter::replace(NodeId root, ValueId replacement) { return replace(root, std::span<const ValueId>(&replacement, 1)); }

}  // namespace nnc
