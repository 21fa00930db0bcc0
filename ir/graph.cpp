#include "ir/graph.h"

#include <algorithm>

#include "ir/support/text.h"

namespace nnc {

SymbolTable& Graph::symbols() { return module_->symbols; }
const SymbolTable& Graph::symbols() const { return module_->symbols; }

std::vector<NodeId> Graph::order() const {
  std::vector<NodeId> ids;
  ids.reserve(live_nodes_);
  for (NodeId n = first_; n.valid(); n = nodes_[n].next) ids.push_back(n);
  return ids;
}

bool Graph::is_live(NodeId id) const { return nodes_.contains(id) && (first_ == id || nodes_[id].prev.valid()); }

ValueId Graph::add_input(Type type, std::string name) {
  Value v;
  v.type = std::move(type);
  v.index = static_cast<uint32_t>(inputs_.size());
  v.name = std::move(name);
  const ValueId id = values_.push(std::move(v));
  inputs_.push_back(id);
  return id;
}

RegionId Graph::add_region(std::string name) { return regions_.push(std::make_unique<Graph>(module_, std::move(name))); }

void Graph::link(NodeId id, NodeId before) {
  const NodeId prev = before.valid() ? nodes_[before].prev : last_;
  nodes_[id].prev = prev;
  nodes_[id].next = before;
  (prev.valid() ? nodes_[prev].next : first_) = id;
  (before.valid() ? nodes_[before].prev : last_) = id;
  ++live_nodes_;
}

NodeId Graph::insert(Node node, std::vector<Type> result_types, NodeId before) {
  NNC_CHECK(!before.valid() || is_live(before), "insertion point is not in the program order");
  node.results.clear();
  const NodeId id = nodes_.push(std::move(node));
  Node& n = nodes_[id];
  for (uint32_t k = 0; k < n.operands.size(); ++k) {
    if (n.operands[k].valid()) values_[n.operands[k]].uses.push_back({id, k});
  }
  for (uint32_t k = 0; k < result_types.size(); ++k) {
    Value v;
    v.type = std::move(result_types[k]);
    v.def = id;
    v.index = k;
    n.results.push_back(values_.push(std::move(v)));
  }
  link(id, before);
  return id;
}

namespace {

Status check_arity(const OpDef& def, const std::vector<ValueId>& operands) {
  const auto count = static_cast<int64_t>(operands.size());
  if (count < def.min_operands || (def.max_operands >= 0 && count > def.max_operands)) {
    return Error(Code::kInvalidModel, cat("op ", def.name, " takes ", def.min_operands,
                                          def.max_operands == def.min_operands ? std::string()
                                          : def.max_operands < 0               ? std::string(" or more")
                                                                               : cat(" to ", def.max_operands),
                                          " operands, got ", count));
  }
  for (size_t k = 0; k < static_cast<size_t>(def.min_operands); ++k) {
    if (!operands[k].valid()) return Error(Code::kInvalidModel, cat("operand ", k, " of op ", def.name, " must be given"));
  }
  return {};
}

}  // namespace

Status infer_node(Graph& g, const Node& node, std::vector<Type>* types, std::vector<ShapeValue>* values) {
  const OpDef& def = node.def();
  NNC_TRY(check_arity(def, node.operands));
  InferContext context(g, node, types, values);
  NNC_TRY(def.infer(context));
  NNC_CHECK(def.results < 0 || types->size() == static_cast<size_t>(def.results), "infer gives as many types as the op has results");
  if (def.value != nullptr) def.value(context);
  NNC_CHECK(values->size() <= types->size(), "shape values belong to results");
  return {};
}

Result<NodeId> Graph::append(OpKind kind, std::vector<ValueId> operands, AttrList attrs, LocId loc, NodeId before,
                             std::vector<RegionId> regions) {
  const OpDef& def = op_def(kind);
  while (!operands.empty() && !operands.back().valid() && operands.size() > static_cast<size_t>(def.min_operands)) operands.pop_back();
  Node node;
  node.kind = kind;
  node.operands = std::move(operands);
  node.regions = std::move(regions);
  node.loc = loc;
  for (ValueId v : node.operands) NNC_CHECK(!v.valid() || values_.contains(v), "operand from another graph");
  NNC_CHECK(static_cast<int>(node.regions.size()) == def.regions, "as many regions as the op has");
  Result<std::vector<AttrValue>> arranged = arrange_attrs(def, std::move(attrs));
  if (!arranged.ok()) return error_at(*this, node, std::move(arranged).error());
  node.attrs = std::move(arranged).value();

  std::vector<Type> types;
  std::vector<ShapeValue> values;
  if (Status s = infer_node(*this, node, &types, &values); !s.ok()) return error_at(*this, node, std::move(s).error());
  const NodeId id = insert(std::move(node), std::move(types), before);
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k].known) shape_values_[nodes_[id].results[k]] = std::move(values[k]);
  }
  return id;
}

NodeId Graph::append_raw(Node node, std::vector<Type> result_types) { return insert(std::move(node), std::move(result_types), {}); }

void Graph::remove_use(ValueId v, Use use) {
  std::vector<Use>& uses = values_[v].uses;
  const auto it = std::find(uses.begin(), uses.end(), use);
  NNC_CHECK(it != uses.end(), "the value lists its use");
  uses.erase(it);
}

void Graph::set_outputs(std::vector<ValueId> outputs) {
  for (uint32_t k = 0; k < outputs_.size(); ++k) {
    if (outputs_[k].valid()) remove_use(outputs_[k], {NodeId(), k});
  }
  outputs_ = std::move(outputs);
  for (uint32_t k = 0; k < outputs_.size(); ++k) {
    if (outputs_[k].valid()) values_[outputs_[k]].uses.push_back({NodeId(), k});
  }
}

void Graph::redirect_use(Use use, ValueId to) {
  ValueId& slot = use.node.valid() ? nodes_[use.node].operands[use.index] : outputs_[use.index];
  if (slot == to) return;
  if (slot.valid()) remove_use(slot, use);
  slot = to;
  if (to.valid()) values_[to].uses.push_back(use);
}

void Graph::redirect(ValueId from, ValueId to) {
  if (from == to) return;
  std::vector<Use> uses = std::move(values_[from].uses);
  values_[from].uses.clear();
  for (const Use& use : uses) (use.node.valid() ? nodes_[use.node].operands[use.index] : outputs_[use.index]) = to;
  std::vector<Use>& target = values_[to].uses;
  target.insert(target.end(), uses.begin(), uses.end());
}

void Graph::erase(NodeId id) {
  NNC_CHECK(is_live(id), "erased twice");
  Node& n = nodes_[id];
  for (ValueId r : n.results) NNC_CHECK(values_[r].uses.empty(), "erased node is used");
  for (uint32_t k = 0; k < n.operands.size(); ++k) {
    if (n.operands[k].valid()) remove_use(n.operands[k], {id, k});
  }
  n.operands.clear();
  (n.prev.valid() ? nodes_[n.prev].next : first_) = n.next;
  (n.next.valid() ? nodes_[n.next].prev : last_) = n.prev;
  n.prev = n.next = NodeId();
  --live_nodes_;
}

void Graph::compact() {
  IdVec<NodeId, Node> nodes;
  IdVec<ValueId, Value> values;
  IdVec<RegionId, std::unique_ptr<Graph>> regions;
  IdMap<ValueId, ShapeValue> shape_values;
  IdMap<ValueId, ValueId> renamed;
  const auto move_value = [&](ValueId old) {
    Value v = std::move(values_[old]);
    v.uses.clear();
    const ValueId id = values.push(std::move(v));
    if (const ShapeValue& known = shape_values_.get(old); known.known) shape_values[id] = known;
    renamed[old] = id;
    return id;
  };
  for (ValueId& v : inputs_) v = move_value(v);
  for (NodeId old = first_; old.valid(); old = nodes_[old].next) {
    const NodeId id(nodes.size());
    Node n = nodes_[old];
    n.prev = id.v > 0 ? NodeId(id.v - 1) : NodeId();
    n.next = n.next.valid() ? NodeId(id.v + 1) : NodeId();
    for (uint32_t k = 0; k < n.operands.size(); ++k) {
      if (!n.operands[k].valid()) continue;
      n.operands[k] = renamed.get(n.operands[k]);
      NNC_CHECK(n.operands[k].valid(), "program order is topological");
      values[n.operands[k]].uses.push_back({id, k});
    }
    for (ValueId& r : n.results) {
      r = move_value(r);
      values[r].def = id;
    }
    for (RegionId& r : n.regions) {
      regions_[r]->compact();
      r = regions.push(std::move(regions_[r]));
    }
    nodes.push(std::move(n));
  }
  for (uint32_t k = 0; k < outputs_.size(); ++k) {
    outputs_[k] = renamed.get(outputs_[k]);
    NNC_CHECK(outputs_[k].valid(), "outputs are defined");
    values[outputs_[k]].uses.push_back({NodeId(), k});
  }
  first_ = nodes.size() > 0 ? NodeId(uint32_t{0}) : NodeId();
  last_ = nodes.size() > 0 ? NodeId(nodes.size() - 1) : NodeId();
  nodes_ = std::move(nodes);
  values_ = std::move(values);
  regions_ = std::move(regions);
  shape_values_ = std::move(shape_values);
}

std::unique_ptr<Graph> Graph::copy(Module* into) const {
  auto g = std::make_unique<Graph>(into, name_);
  g->nodes_ = nodes_;
  g->values_ = values_;
  for (const auto& region : regions_) g->regions_.push(region ? region->copy(into) : nullptr);
  g->shape_values_ = shape_values_;
  g->inputs_ = inputs_;
  g->outputs_ = outputs_;
  g->first_ = first_;
  g->last_ = last_;
  g->live_nodes_ = live_nodes_;
  return g;
}

namespace {

LocId translate_loc(const Module& from, LocId id, Module& into) {
  if (!id.valid()) return id;
  Loc loc = from.loc(id);
  for (LocId& f : loc.fused) f = translate_loc(from, f, into);
  std::sort(loc.fused.begin(), loc.fused.end());
  return into.add_loc(std::move(loc));
}

}  // namespace

std::unique_ptr<Graph> Graph::clone(Module* into) const {
  std::unique_ptr<Graph> g = copy(into);
  if (into == module_) return g;
  std::vector<Graph*> todo = {g.get()};
  while (!todo.empty()) {
    Graph& each = *todo.back();
    todo.pop_back();
    for (Node& n : each.nodes_) {
      n.loc = translate_loc(*module_, n.loc, *into);
      for (AttrValue& a : n.attrs) {
        if (ConstId* c = std::get_if<ConstId>(&a); c != nullptr && c->valid()) *c = into->add_constant(module_->constant(*c));
      }
    }
    for (auto& region : each.regions_) {
      if (region) todo.push_back(region.get());
    }
  }
  return g;
}

Error error_at(const Graph& g, const Node& node, Error e) {
  const Module& m = g.module();
  if (!e.place.empty() || !e.place.op.empty()) {
    return std::move(e).with(cat("in ", op_name(node.kind), node.loc.valid() ? cat(" of ", m.loc_str(node.loc)) : std::string()));
  }
  const std::vector<LocId> leaves = m.loc_leaves(node.loc);
  e.place.op = op_name(node.kind);
  if (leaves.size() == 1) {
    const Loc& loc = m.loc(leaves[0]);
    e.place.node = !loc.node.empty() ? loc.node : loc.scope;
    e.place.file = loc.file;
    e.place.line = loc.line;
  } else {
    e.place.node = join(leaves, ", ", [&](LocId id) { return m.loc(id).node; });
  }
  if (node.operands.empty()) return e;
  return std::move(e).with(cat("operands: ", join(node.operands, ", ", [&](ValueId v) {
                                 if (!v.valid()) return std::string("absent");
                                 const Value& value = g.value(v);
                                 return value.name.empty() ? type_pretty(g.symbols(), value.type)
                                                           : cat(type_pretty(g.symbols(), value.type), " ", quote(value.name));
                               })));
}

}  // namespace nnc
