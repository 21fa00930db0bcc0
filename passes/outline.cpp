// Outlining: makes a grouping real. Every group becomes a `group` op whose region is an ordinary graph; everything else is appended again
// around the groups in a topological order that keeps the original order where it can. Effects keep their order, and what uses a data
// symbol stays behind what defines it.

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "ir/builder.h"
#include "ir/support/mutant.h"
#include "passes/rules.h"

namespace nnc {

namespace {

void add_data_symbols(const SymbolTable& symbols, const Dim& d, std::set<SymbolId>& out) {
  for (const Term& t : d.terms())
    for (uint32_t s : t.mono.s) {
      if (s == 0) continue;
      const Symbol& symbol = symbols[SymbolId(s - 1)];
      if (symbol.kind == SymKind::kData) out.insert(SymbolId(s - 1));
      if (symbol.kind == SymKind::kDerived) {
        add_data_symbols(symbols, symbol.a, out);
        add_data_symbols(symbols, symbol.b, out);
      }
    }
}

std::set<SymbolId> used_symbols(const Graph& g, const Node& node) {
  std::set<SymbolId> out;
  for (ValueId r : node.results)
    for (const Dim& d : g.type(r).shape) add_data_symbols(g.symbols(), d, out);
  for (const AttrValue& a : node.attrs)
    if (const Shape* dims = std::get_if<Shape>(&a))
      for (const Dim& d : *dims) add_data_symbols(g.symbols(), d, out);
  return out;
}

std::vector<SymbolId> defined_symbols(const Node& node) {
  std::vector<SymbolId> out;
  for (const AttrValue& a : node.attrs)
    if (const auto* s = std::get_if<std::vector<SymbolId>>(&a)) out.insert(out.end(), s->begin(), s->end());
  return out;
}

class Outliner {
 public:
  Outliner(Graph& g, const std::vector<GroupPlan>& plans) : g_(g), plans_(plans) {}

  Status run() {
    const std::vector<NodeId> order = g_.order();
    number_units(order);
    connect(order);
    for (size_t unit : topological()) {
      if (units_[unit].plan >= 0)
        NNC_TRY(make_group(plans_[static_cast<size_t>(units_[unit].plan)]));
      else if (stays(units_[unit].node))
        NNC_TRY(move_node(units_[unit].node));
    }
    std::vector<ValueId> outputs;
    for (ValueId v : g_.outputs()) outputs.push_back(mapped(v));
    g_.set_outputs(std::move(outputs));
    for (size_t i = order.size(); i-- > 0;) g_.erase(order[i]);
    return {};
  }

 private:
  struct Unit {
    int plan = -1;
    NodeId node;
    std::set<size_t> after;
    size_t before_count = 0;
  };

  void number_units(const std::vector<NodeId>& order) {
    std::map<NodeId, int> plan_of;
    for (size_t p = 0; p < plans_.size(); ++p) {
      for (NodeId n : plans_[p].nodes) plan_of[n] = static_cast<int>(p);
      copies_.emplace_back(plans_[p].copies.begin(), plans_[p].copies.end());
    }
    for (size_t k = 0; k < order.size(); ++k) position_[order[k]] = k;
    std::map<int, size_t> unit_of_plan;
    for (NodeId n : order) {
      auto it = plan_of.find(n);
      if (it == plan_of.end()) {
        unit_of_[n] = units_.size();
        units_.push_back({-1, n, {}, 0});
        continue;
      }
      auto [u, fresh] = unit_of_plan.try_emplace(it->second, units_.size());
      if (fresh) units_.push_back({it->second, n, {}, 0});
      unit_of_[n] = u->second;
    }
  }

  void edge(size_t from, size_t to) {
    if (from != to && units_[from].after.insert(to).second) ++units_[to].before_count;
  }

  void depends(size_t unit, const Node& node) {
    for (ValueId v : node.operands)
      if (v.valid() && g_.value(v).def.valid() && !copied_into(g_.value(v).def, unit)) edge(unit_of_.at(g_.value(v).def), unit);
  }
  // What a unit makes again it does not wait for.
  bool copied_into(NodeId n, size_t unit) const {
    const int plan = units_[unit].plan;
    return plan >= 0 && copies_[static_cast<size_t>(plan)].count(n) > 0;
  }

  void connect(const std::vector<NodeId>& order) {
    size_t last_effect = units_.size();
    std::map<SymbolId, size_t> definer;
    for (NodeId n : order) {
      const Node& node = g_.node(n);
      const size_t unit = unit_of_.at(n);
      depends(unit, node);
      for (SymbolId s : used_symbols(g_, node))
        if (auto it = definer.find(s); it != definer.end()) edge(it->second, unit);
      for (SymbolId s : defined_symbols(node)) definer.try_emplace(s, unit);
      if (node.def().traits & kEffect) {
        if (last_effect < units_.size()) edge(last_effect, unit);
        last_effect = unit;
      }
    }
    for (const GroupPlan& p : plans_)
      for (NodeId c : p.copies) depends(unit_of_.at(p.nodes.front()), g_.node(c));
  }

  std::vector<size_t> topological() {
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t u = 0; u < units_.size(); ++u)
      if (units_[u].before_count == 0) ready.push(u);
    std::vector<size_t> out;
    while (!ready.empty()) {
      const size_t u = ready.top();
      ready.pop();
      out.push_back(u);
      for (size_t v : units_[u].after)
        if (--units_[v].before_count == 0) ready.push(v);
    }
    NNC_CHECK(out.size() == units_.size(), "a group is not closed: a path leaves it and comes back");
    return out;
  }

  ValueId mapped(ValueId v) const {
    auto it = map_.find(v);
    return it == map_.end() ? v : it->second;
  }

  Status move_node(NodeId n) {
    const Node node = g_.node(n);
    std::vector<ValueId> operands;
    for (ValueId v : node.operands) operands.push_back(v.valid() ? mapped(v) : v);
    NNC_ASSIGN(const NodeId fresh, g_.append(node.kind, std::move(operands), attr_list_of(node), node.loc, {}, node.regions));
    carry(node.results, g_.node(fresh).results);
    return {};
  }

  void carry(const std::vector<ValueId>& from, const std::vector<ValueId>& to) {
    for (size_t r = 0; r < from.size(); ++r) {
      map_[from[r]] = to[r];
      g_.set_value_name(to[r], g_.value(from[r]).name);
      if (g_.shape_value(from[r]).known) g_.set_shape_value(to[r], g_.shape_value(from[r]));
    }
  }

  Status make_group(const GroupPlan& plan) {
    std::vector<NodeId> nodes = plan.copies;
    nodes.insert(nodes.end(), plan.nodes.begin(), plan.nodes.end());
    std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return position_.at(a) < position_.at(b); });
    const std::set<NodeId> inside(nodes.begin(), nodes.end()), own(plan.nodes.begin(), plan.nodes.end());

    const RegionId region_id = g_.add_region("body");
    Graph& region = g_.region(region_id);
    std::map<ValueId, ValueId> local;
    std::vector<ValueId> operands, outputs, results;
    std::vector<LocId> locs;
    for (NodeId n : nodes) {
      const Node node = g_.node(n);
      std::vector<ValueId> args;
      for (ValueId v : node.operands) {
        if (v.valid() && !local.count(v)) {
          NNC_CHECK(!g_.value(v).def.valid() || !inside.count(g_.value(v).def), "group nodes out of order");
          local[v] = region.add_input(g_.type(v));
          operands.push_back(mapped(v));
        }
        args.push_back(v.valid() ? local.at(v) : v);
      }
      NNC_CHECK(node.regions.empty(), "a node with regions in a group");
      NNC_ASSIGN(const NodeId inner, region.append(node.kind, std::move(args), attr_list_of(node), node.loc));
      locs.push_back(node.loc);
      for (size_t r = 0; r < node.results.size(); ++r) {
        local[node.results[r]] = region.node(inner).results[r];
        if (own.count(n) && used_outside(node.results[r], own)) {
          outputs.push_back(region.node(inner).results[r]);
          results.push_back(node.results[r]);
        }
      }
    }
    region.set_outputs(std::move(outputs));
    NNC_ASSIGN(const NodeId group,
               g_.append(OpKind::kGroup, std::move(operands), {{"hero", plan.hero}}, g_.module().fuse_locs(locs), {}, {region_id}));
    carry(results, g_.node(group).results);
    return {};
  }

  bool used_outside(ValueId v, const std::set<NodeId>& own) {
    for (const Use& u : g_.value(v).uses)
      if ((!u.node.valid() && !mutant("group_keeps_output")) ||
          (u.node.valid() && !own.count(u.node) && unit_of_.count(u.node) && reads_original(u.node, g_.value(v).def)))
        return true;
    return false;
  }

  // Whether the graph still needs `n` at its own place. A node that every reader makes again for itself goes, and with it its claim on what
  // it reads.
  bool stays(NodeId n) {
    const Node& node = g_.node(n);
    if (units_[unit_of_.at(n)].plan >= 0 || !node.regions.empty() || (node.def().traits & kEffect)) return true;
    if (const auto known = stays_.find(n); known != stays_.end()) return known->second;
    bool needed = false;
    for (ValueId r : node.results)
      for (const Use& u : g_.value(r).uses) needed = needed || !u.node.valid() || (unit_of_.count(u.node) && reads_original(u.node, n));
    return stays_[n] = needed;
  }
  // At its own place, or as what a plan makes again, the reader takes the value that `n` makes at its own place.
  bool reads_original(NodeId reader, NodeId n) {
    const int own = units_[unit_of_.at(n)].plan, plan = units_[unit_of_.at(reader)].plan;
    if (plan >= 0 ? !copies_[static_cast<size_t>(plan)].count(n) : stays(reader)) return true;
    for (size_t p = 0; p < copies_.size(); ++p)
      if (static_cast<int>(p) != own && copies_[p].count(reader) && !copies_[p].count(n)) return true;
    return false;
  }

  Graph& g_;
  const std::vector<GroupPlan>& plans_;
  std::vector<Unit> units_;
  std::vector<std::set<NodeId>> copies_;  // by plan
  std::map<NodeId, bool> stays_;
  std::map<NodeId, size_t> unit_of_, position_;
  std::map<ValueId, ValueId> map_;
};

bool computes(const Graph& g, const Node& node) {
  switch (node.def().lowering) {
    case Lowering::kElem:
    case Lowering::kFold:
    case Lowering::kPoint:
    case Lowering::kHero: return true;
    case Lowering::kMap: return node.kind != OpKind::kReshape && !unpacks_constant(g, node);
    case Lowering::kSource: return node.kind != OpKind::kConstant;
    default: return false;
  }
}

// Sources that each consumer makes for itself: scalar constants, ranges, dims.
bool cheap_source(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  if (node.kind == OpKind::kConstant) return g.module().constant(node.constant("value")).count() == 1;
  return node.def().lowering == Lowering::kSource && node.operands.empty();
}

Result<int64_t> outline_single(Graph& g) {
  std::vector<GroupPlan> plans;
  int64_t changes = 0;
  for (NodeId n = g.first(); n.valid(); n = g.node(n).next) {
    const Node& node = g.node(n);
    for (RegionId r : node.regions)
      if (node.kind != OpKind::kGroup) {
        NNC_ASSIGN(const int64_t inner, outline_single(g.region(r)));
        changes += inner;
      }
    if (!computes(g, node)) continue;
    if (cheap_source(g, n)) {
      // Only where something outside of groups reads it.
      bool needed = false;
      for (const Use& u : g.value(node.results[0]).uses) needed = needed || !u.node.valid() || !computes(g, g.node(u.node));
      if (!needed) continue;
    }
    GroupPlan plan{{n}, {}, std::string(node.def().name)};
    for (ValueId v : node.operands) {
      if (!v.valid() || !g.value(v).def.valid()) continue;
      const NodeId def = g.value(v).def;
      if (cheap_source(g, def) && std::find(plan.copies.begin(), plan.copies.end(), def) == plan.copies.end()) plan.copies.push_back(def);
    }
    plans.push_back(std::move(plan));
  }
  if (!plans.empty()) NNC_TRY(outline_groups(g, plans));
  Rewriter(g).remove_dead();
  return changes + static_cast<int64_t>(plans.size());
}

}  // namespace

Status outline_groups(Graph& g, const std::vector<GroupPlan>& groups) { return Outliner(g, groups).run(); }

// What fusion left at its place although no reader is a group that makes it again: a view that only leaves, say.
Status outline_rest(Graph& g) {
  std::vector<GroupPlan> plans;
  for (NodeId n = g.first(); n.valid(); n = g.node(n).next)
    if (computes(g, g.node(n))) plans.push_back({{n}, {}, std::string(g.node(n).def().name)});
  return plans.empty() ? Status() : outline_groups(g, plans);
}

Result<int64_t> run_outline_single(Module& m, PassContext&) {
  int64_t changes = 0;
  for (const auto& e : m.entries) {
    NNC_ASSIGN(const int64_t n, outline_single(*e->graph));
    changes += n;
  }
  return changes;
}

}  // namespace nnc
