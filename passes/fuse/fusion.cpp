#include "passes/fuse/fusion.h"

#include <algorithm>
#include <map>

#include "ir/symbol_use.h"
#include "passes/fuse/cost.h"
#include "passes/layout.h"

namespace nnc {

namespace {

std::vector<SymbolId> bound_symbols(const Node& node) {
  std::vector<SymbolId> out;
  for (const AttrValue& a : node.attrs) {
    if (const auto* s = std::get_if<std::vector<SymbolId>>(&a)) out.insert(out.end(), s->begin(), s->end());
  }
  return out;
}

}  // namespace

Fusion::Fusion(Graph& graph) : g(graph), s(graph.symbols()), order(graph.order()) {
  for (uint32_t k = 0; k < order.size(); ++k) {
    position_[order[k]] = k + 1;  // 0: not in the order
    units_.push_back({UnitClass::kNone, {order[k]}});
    parent_.push_back(k);
    const Node& n = g.node(order[k]);
    // Constants are never computed; single elements and what follows from dims alone is made where it is read.
    if (n.kind == OpKind::kConstant || n.kind == OpKind::kDimsValue) copied_.insert(order[k]);
    if (n.kind == OpKind::kRange && const_value(g, n.operands[0]) && const_value(g, n.operands[1])) copied_.insert(order[k]);
  }
  connect();
}

size_t Fusion::unit(NodeId n) const {
  size_t u = position_.get(n) - 1;
  while (parent_[u] != u) {
    parent_[u] = parent_[parent_[u]];
    u = parent_[u];
  }
  return u;
}

size_t Fusion::unit_of_value(ValueId v) const {
  const NodeId def = g.value(v).def;
  return def.valid() ? unit(def) : kNoUnit;
}

bool Fusion::computes(NodeId n) const {
  const Node& node = g.node(n);
  switch (node.def().lowering) {
    case Lowering::kMap: return !unpacks_constant(g, node);
    case Lowering::kElem:
    case Lowering::kFold:
    case Lowering::kPoint:
    case Lowering::kHero: return true;
    case Lowering::kSource: return node.kind != OpKind::kConstant;
    default: return false;
  }
}

void Fusion::connect() {
  successors_.assign(order.size(), {});
  std::map<SymbolId, uint32_t> definer;
  uint32_t last_effect = 0;  // position + 1
  for (uint32_t k = 0; k < order.size(); ++k) {
    const Node& n = g.node(order[k]);
    // What speaks of a data symbol, in attributes or types, comes after what binds it.
    const auto after = [&](SymbolId symbol) {
      for (const auto& [bound, at] : definer) {
        if (at != k && s.depends_on(Dim(symbol), bound)) successors_[at].push_back(k);
      }
    };
    if (!definer.empty()) {
      for_each_attr_symbol(n, after);
      for (ValueId r : n.results) {
        for (const Dim& d : g.type(r).shape) for_each_symbol(d, after);
      }
    }
    for (SymbolId b : bound_symbols(n)) definer.try_emplace(b, k);
    if (n.def().traits & kEffect) {
      if (last_effect > 0) successors_[last_effect - 1].push_back(k);
      last_effect = k + 1;
    }
    if (copied(order[k])) continue;
    for (ValueId r : n.results) {
      for (NodeId reader : readers(r)) successors_[k].push_back(position_.get(reader) - 1);
    }
  }
}

bool Fusion::may_join(size_t a, size_t b) const {
  // Paths from one to the other through anything else.
  const auto leaves_and_returns = [&](size_t from, size_t to) {
    std::vector<uint8_t> seen(order.size(), 0);
    std::vector<size_t> todo;
    const auto step = [&](size_t u, bool direct) {
      for (NodeId n : units_[u].nodes) {
        for (uint32_t next : successors_[position_.get(n) - 1]) {
          const size_t v = unit(order[next]);
          if (v == u || v == from) continue;
          if (v == to) {
            if (!direct) return true;
            continue;
          }
          if (!seen[v]) {
            seen[v] = 1;
            todo.push_back(v);
          }
        }
      }
      return false;
    };
    if (step(from, true)) return true;
    while (!todo.empty()) {
      const size_t u = todo.back();
      todo.pop_back();
      if (step(u, false)) return true;
    }
    return false;
  };
  if (a == b) return true;
  // What is stored in parts of bytes is made by a kernel of its own.
  for (size_t u : {a, b})
    for (NodeId n : units_[u].nodes)
      for (ValueId r : g.node(n).results)
        if (g.type(r).is_tensor() && dtype_bits(g.type(r).dtype) < 8 && g.type(r).dtype != DType::kString) return false;
  constexpr size_t kMostNodes = 64, kMostInputs = 24;
  if (units_[a].nodes.size() + units_[b].nodes.size() > kMostNodes) return false;
  if (inputs(a).size() + inputs(b).size() > kMostInputs) return false;
  return !leaves_and_returns(a, b) && !leaves_and_returns(b, a);
}

void Fusion::join(size_t into, size_t other) {
  if (into == other) return;
  const UnitClass c = units_[into].cls;
  const size_t root = std::min(into, other), child = std::max(into, other);
  parent_[child] = root;
  std::vector<NodeId>& nodes = units_[root].nodes;
  nodes.insert(nodes.end(), units_[child].nodes.begin(), units_[child].nodes.end());
  std::sort(nodes.begin(), nodes.end(), [&](NodeId x, NodeId y) { return position_.get(x) < position_.get(y); });
  units_[child].nodes.clear();
  units_[root].cls = c;
}

Dim Fusion::count(ValueId v) { return s.mul(shape(v)); }
double Fusion::typical_count(ValueId v) {
  double n = 1;
  for (const Dim& d : shape(v)) n *= static_cast<double>(std::max<int64_t>(1, s.typical(d)));
  return n;
}
double Fusion::bytes(ValueId v) { return typical_count(v) * std::max(1, dtype_bits(g.type(v).dtype)) / 8; }

std::vector<NodeId> Fusion::readers(ValueId v, bool* leaves) const {
  std::vector<NodeId> out;
  for (const Use& use : g.value(v).uses) {
    if (!use.node.valid()) {
      if (leaves) *leaves = true;
      continue;
    }
    if (copied(use.node)) {
      const std::vector<NodeId> more = readers(g.node(use.node).results[0], leaves);
      out.insert(out.end(), more.begin(), more.end());
    } else {
      if (leaves && !computes(use.node)) *leaves = true;
      out.push_back(use.node);
    }
  }
  return out;
}

bool Fusion::only_in(ValueId v, size_t u) const {
  bool leaves = false;
  const std::vector<NodeId> all = readers(v, &leaves);
  return !leaves && std::all_of(all.begin(), all.end(), [&](NodeId n) { return unit(n) == u; });
}

std::vector<ValueId> Fusion::outputs(size_t u) const {
  std::vector<ValueId> out;
  for (NodeId n : units_[u].nodes) {
    for (ValueId r : g.node(n).results) {
      if (!only_in(r, u)) out.push_back(r);
    }
  }
  return out;
}

void Fusion::add_inputs(NodeId n, size_t u, std::set<ValueId>& into) const {
  for (ValueId v : g.node(n).operands) {
    if (!v.valid()) continue;
    const NodeId def = g.value(v).def;
    if (def.valid() && copied(def) && !stays_outside(def, u))
      add_inputs(def, u, into);
    else if (!def.valid() || unit(def) != u)
      into.insert(v);
  }
}

std::vector<ValueId> Fusion::inputs(size_t u) const {
  std::set<ValueId> in;
  for (NodeId n : units_[u].nodes) add_inputs(n, u, in);
  return {in.begin(), in.end()};
}

// Large constants, and reshapes of what lies in memory anyway.
bool Fusion::stays_outside(NodeId copy, size_t u) const {
  const Node& n = g.node(copy);
  if (n.kind == OpKind::kConstant) return g.module().constant(n.constant("value")).count() != 1;
  if (n.kind != OpKind::kReshape) return false;
  const NodeId def = g.value(n.operands[0]).def;
  if (!def.valid()) return true;
  return copied(def) ? stays_outside(def, u) : unit(def) != u;
}

void Fusion::add_copies(NodeId n, size_t u, std::set<NodeId>& into) const {
  for (ValueId v : g.node(n).operands) {
    const NodeId def = v.valid() ? g.value(v).def : NodeId();
    if (!def.valid() || !copied(def) || stays_outside(def, u)) continue;
    if (into.insert(def).second) add_copies(def, u, into);
  }
}

std::vector<GroupPlan> Fusion::plans() const {
  constexpr std::string_view kNames[] = {"", "pointwise", "fold", "contraction", "convolution", "attention", "whole"};
  std::vector<GroupPlan> out;
  for (const Unit& u : units_) {
    if (u.nodes.empty()) continue;
    GroupPlan p;
    p.nodes = u.nodes;
    p.hero = kNames[static_cast<size_t>(u.cls)];
    if (u.cls == UnitClass::kNone) {
      // What readers make again has a kernel only where a reader is none.
      bool leaves = false;
      if (copied(u.nodes[0]) && lowering(u.nodes[0]) == Lowering::kSource && computes(u.nodes[0]))
        readers(g.node(u.nodes[0]).results[0], &leaves);
      if (!leaves) continue;
      p.hero = kNames[static_cast<size_t>(UnitClass::kPointwise)];
    }
    if (u.cls == UnitClass::kWhole) p.hero = g.node(u.nodes[0]).def().name;
    std::set<NodeId> copies;
    for (NodeId n : u.nodes) add_copies(n, unit(u.nodes[0]), copies);
    p.copies.assign(copies.begin(), copies.end());
    out.push_back(std::move(p));
  }
  return out;
}

bool is_view(OpKind k) {
  return k == OpKind::kReshape || k == OpKind::kTranspose || k == OpKind::kSlice || k == OpKind::kBroadcastTo || k == OpKind::kUnpack;
}

bool keeps_last_axis(const Shape& from, const std::vector<int64_t>& perm) {
  // The last axis of more than one element, before and after.
  size_t last = from.size();
  while (last > 0 && from[last - 1].is_const(1)) --last;
  for (size_t k = perm.size(); k-- > 0;) {
    if (from[static_cast<size_t>(perm[k])].is_const(1)) continue;
    return static_cast<size_t>(perm[k]) + 1 == last;
  }
  return true;
}

bool reads_in_order(const Fusion& f, NodeId view) {
  const Node& n = f.node(view);
  switch (n.kind) {
    case OpKind::kTranspose: return keeps_last_axis(f.shape(n.operands[0]), n.ints("perm"));
    case OpKind::kSlice: {
      const auto &axes = n.ints("axes"), &steps = n.ints("steps");
      const int rank = static_cast<int>(f.shape(n.operands[0]).size());
      for (size_t k = 0; k < axes.size(); ++k) {
        if ((axes[k] < 0 ? axes[k] + rank : axes[k]) == rank - 1 && steps[k] != 1) return false;
      }
      return true;
    }
    case OpKind::kUnpack: return n.i("transposed") == 0;
    default: return true;
  }
}

bool is_costly(const Node& n) {
  switch (n.kind) {
    case OpKind::kExp:
    case OpKind::kLog:
    case OpKind::kSin:
    case OpKind::kCos:
    case OpKind::kTanh:
    case OpKind::kErf:
    case OpKind::kSigmoid:
    case OpKind::kGelu:
    case OpKind::kSilu:
    case OpKind::kPow:
    case OpKind::kMod: return true;
    default: return n.def().lowering == Lowering::kPoint;
  }
}

}  // namespace nnc
