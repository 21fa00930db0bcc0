// What holds in every module between passes. Each line has a failing file tests/golden/verify/<number>_*.nnir, or, where text cannot say
// it, a unit test.
//
//  V1  Program order links every live node once, forth and back; the list of a value's uses is exactly its uses; results name their node.
//  (unit test) V2  Operands and outputs are defined, before their use, in the same graph; only optional operands may be absent. V3  A node
//  has as many operands, results and regions as its row says.                                          (results, regions: unit test) V4
//  Attributes have the row's kinds and choices; required ones are there; constants, symbols and locations exist.               (unit test)
//  V5  Stored result types are those that the row infers; an extent that is known only at run time may be stored more precisely.
//  V6  Tensor types have a dtype; no extent is surely negative.
//  V7  A data symbol is defined by one node of an entry, before every type and attribute that speaks of it, and not outside the region of
//  that node. V8  Every input symbol that an entry speaks of occurs in its inputs' types; these hold no data symbol. V9  An entry binds
//  every argument and result; an argument or result that is a state has its type; a state is replaced at most once. V10 Entries differ in
//  name or profile; entries of one name agree in the names of arguments and results; states differ in name. V11 A state's initial value has
//  its type, with constant extents. V12 A group holds no group.

#include "ir/verifier.h"

#include <algorithm>
#include <set>

#include "ir/support/text.h"
#include "ir/symbol_use.h"
#include "ir/text.h"

namespace nnc {

namespace {

class Verifier {
 public:
  Verifier(const Module& m, const VerifyOptions& options) : m_(m), options_(options) {}

  std::vector<Diagnostic> run() {
    // Inference needs a symbol table that it may add to.
    if (options_.recheck_types) scratch_ = m_.clone_for_inference();
    module_level();
    for (size_t k = 0; k < m_.entries.size(); ++k) entry(*m_.entries[k], scratch_ ? scratch_->entries[k]->graph.get() : nullptr);
    return std::move(found_);
  }

 private:
  struct Walk {
    const Graph& g;
    Graph* scratch;
    bool in_group;
  };

  void report(const Graph* g, NodeId id, std::string message) {
    constexpr size_t kMost = 100;
    if (found_.size() < kMost) found_.push_back({std::move(message), g, id});
  }
  std::string pretty(const Type& t) const { return type_pretty(m_.symbols, t); }

  // V10, V11
  void module_level() {
    std::set<std::pair<std::string, std::string>> names;
    for (const auto& e : m_.entries) {
      if (!names.emplace(e->name, e->profile).second) report(e->graph.get(), {}, cat("two entries ", at(*e)));
      const auto name_of = [](const ArgBinding& b) { return b.name; };
      for (const auto& other : m_.entries) {
        if (other == e) break;
        if (other->name != e->name) continue;
        if (join(other->args, ",", name_of) != join(e->args, ",", name_of) ||
            join(other->results, ",", name_of) != join(e->results, ",", name_of)) {
          report(e->graph.get(), {}, cat("profiles of entry ", e->name, " have other arguments or results"));
        }
      }
    }
    std::set<std::string> states;
    for (const State& s : m_.states) {
      if (!states.insert(s.name).second) report(nullptr, {}, cat("two states named ", quote(s.name)));
      if (s.initial.valid()) initial_value(s);
    }
  }
  void initial_value(const State& s) {
    const Tensor& t = m_.constant(s.initial);
    Shape shape(t.dims().begin(), t.dims().end());
    const Type type = Type::tensor(t.dtype(), std::move(shape));
    if (type != s.type) report(nullptr, {}, cat("state ", quote(s.name), " is ", pretty(s.type), ", its initial value ", pretty(type)));
  }
  static std::string at(const Entry& e) { return e.profile.empty() ? quote(e.name) : cat(quote(e.name), " of profile ", quote(e.profile)); }

  void entry(const Entry& e, Graph* scratch) {
    defined_.assign(m_.symbols.size(), 0);
    visible_.assign(m_.symbols.size(), 0);
    const Graph& g = *e.graph;
    bindings(e);
    for (ValueId v : g.inputs()) {
      for (const Dim& d : g.type(v).shape) {
        if (m_.symbols.depends_on_kind(d, SymKind::kData))
          report(&g, {}, cat("argument extent ", m_.symbols.pretty(d), " is a data symbol"));
        for_each_symbol(d, [&](SymbolId s) { visible_[s.index()] = 1; });
      }
    }
    graph({g, scratch, false});
  }

  // V9
  void bindings(const Entry& e) {
    const Graph& g = *e.graph;
    if (e.args.size() != g.inputs().size())
      report(&g, {}, cat("the entry names ", e.args.size(), " arguments, its graph has ", g.inputs().size()));
    if (e.results.size() != g.outputs().size())
      report(&g, {}, cat("the entry names ", e.results.size(), " results, its graph has ", g.outputs().size()));
    std::set<StateId> replaced;
    const auto check = [&](const ArgBinding& b, ValueId v, const char* what) {
      if (!b.state.valid() || !v.valid()) return;
      if (!m_.states.contains(b.state)) return report(&g, {}, cat(what, " ", quote(b.name), " stands for a state that does not exist"));
      const State& s = m_.states[b.state];
      if (s.type != g.type(v))
        report(&g, {}, cat(what, " ", quote(b.name), " is ", pretty(g.type(v)), ", its state ", quote(s.name), " ", pretty(s.type)));
    };
    for (size_t k = 0; k < e.args.size() && k < g.inputs().size(); ++k) check(e.args[k], g.inputs()[k], "argument");
    for (size_t k = 0; k < e.results.size() && k < g.outputs().size(); ++k) {
      check(e.results[k], g.outputs()[k], "result");
      if (e.results[k].state.valid() && !replaced.insert(e.results[k].state).second)
        report(&g, {}, cat("two results replace the state of ", quote(e.results[k].name)));
    }
  }

  void graph(const Walk& w) {
    const Graph& g = w.g;
    if (!links(g)) return;
    IdMap<ValueId, uint8_t> known;
    for (ValueId v : g.inputs()) {
      known[v] = 1;
      value_type(w, {}, g.type(v));
    }
    const std::vector<uint8_t> visible_before = visible_;
    for (NodeId id = g.first(); id.valid(); id = g.node(id).next) {
      node(w, id, known);
      for (ValueId r : g.node(id).results) known[r] = 1;
    }
    for (size_t k = 0; k < g.outputs().size(); ++k) {
      const ValueId v = g.outputs()[k];
      if (!v.valid() || !known.get(v)) report(&g, {}, cat("output ", k, " of ", g.name(), " is not defined"));
    }
    visible_ = visible_before;  // what a region defines ends with it
  }

  // V1
  bool links(const Graph& g) {
    const size_t before = found_.size();
    size_t live = 0;
    NodeId prev;
    for (NodeId id = g.first(); id.valid() && live <= g.node_capacity(); id = g.node(id).next) {
      const Node& n = g.node(id);
      if (n.prev != prev) report(&g, id, "the links of the program order disagree");
      for (size_t k = 0; k < n.results.size(); ++k) {
        const Value& v = g.value(n.results[k]);
        if (v.def != id || v.index != k) report(&g, id, cat("result ", k, " does not name its node"));
      }
      prev = id;
      ++live;
    }
    if (prev != g.last() || live != g.node_count()) report(&g, {}, "the program order does not hold as many nodes as the graph counts");
    if (found_.size() == before) uses(g);
    return found_.size() == before;
  }
  void uses(const Graph& g) {
    std::vector<uint32_t> expected(g.value_capacity(), 0);
    std::vector<uint8_t> in_order(g.node_capacity(), 0);
    const auto count = [&](ValueId v) {
      if (v.index() < expected.size()) ++expected[v.index()];
    };
    for (NodeId id = g.first(); id.valid(); id = g.node(id).next) {
      in_order[id.index()] = 1;
      for (ValueId v : g.node(id).operands) count(v);
    }
    for (ValueId v : g.outputs()) count(v);
    const auto is_use = [&](ValueId v, Use u) {
      if (u.node.valid() && (u.node.index() >= in_order.size() || !in_order[u.node.index()])) return false;
      const std::vector<ValueId>& list = u.node.valid() ? g.node(u.node).operands : g.outputs();
      return u.index < list.size() && list[u.index] == v;
    };
    // As many as there are, all different and each one of them: all.
    std::vector<Use> listed;
    for (size_t k = 0; k < expected.size(); ++k) {
      const ValueId v(k);
      listed = g.value(v).uses;
      std::ranges::sort(listed);
      if (listed.size() != expected[k] || std::ranges::adjacent_find(listed) != listed.end() ||
          !std::ranges::all_of(listed, [&](const Use& u) { return is_use(v, u); }))
        report(&g, g.value(v).def, "the uses that a value lists are not its uses");
    }
  }

  void node(const Walk& w, NodeId id, const IdMap<ValueId, uint8_t>& known) {
    const Node& n = w.g.node(id);
    const size_t before = found_.size();
    arity(w, id);
    for (size_t k = 0; k < n.operands.size(); ++k) {
      const ValueId v = n.operands[k];
      if (!v.valid()) {
        if (static_cast<int>(k) < n.def().min_operands) report(&w.g, id, cat("operand ", k, " is absent, and not optional"));
      } else if (!known.get(v)) {
        report(&w.g, id, cat("operand ", k, " is used before it is defined"));
      }
    }
    attributes(w, id);
    const bool sound = found_.size() == before;
    if (sound) define_symbols(w, id);
    for (ValueId r : n.results) value_type(w, id, w.g.type(r));
    for_each_attr_symbol(n, [&](SymbolId s) { symbol_use(w, id, s); });
    if (n.kind == OpKind::kGroup && w.in_group) report(&w.g, id, "a group inside a group");
    for (RegionId r : n.regions) {
      graph({w.g.region(r), w.scratch != nullptr ? &w.scratch->region(r) : nullptr, w.in_group || n.kind == OpKind::kGroup});
    }
    if (sound && w.scratch != nullptr && found_.size() == before) types(w, id);
  }

  // V3
  void arity(const Walk& w, NodeId id) {
    const Node& n = w.g.node(id);
    const OpDef& def = n.def();
    const auto count = static_cast<int>(n.operands.size());
    if (count < def.min_operands || (def.max_operands >= 0 && count > def.max_operands))
      report(&w.g, id, cat("op ", def.name, " does not take ", count, " operands"));
    if (def.results >= 0 && static_cast<int>(n.results.size()) != def.results)
      report(&w.g, id, cat("op ", def.name, " has ", def.results, " results, got ", n.results.size()));
    if (static_cast<int>(n.regions.size()) != def.regions)
      report(&w.g, id, cat("op ", def.name, " has ", def.regions, " regions, got ", n.regions.size()));
  }

  // V4
  void attributes(const Walk& w, NodeId id) {
    const Node& n = w.g.node(id);
    const std::vector<AttrDef>& defs = n.def().attrs;
    if (n.attrs.size() != defs.size())
      return report(&w.g, id, cat("op ", n.def().name, " has ", defs.size(), " attributes, got ", n.attrs.size()));
    AttrList given;
    for (size_t k = 0; k < defs.size(); ++k) given.push_back({defs[k].name, n.attrs[k]});
    if (Result<std::vector<AttrValue>> r = arrange_attrs(n.def(), std::move(given)); !r.ok()) report(&w.g, id, r.error().message);
    for (const AttrValue& a : n.attrs) {
      const auto* c = std::get_if<ConstId>(&a);
      if (c != nullptr && c->index() >= m_.constant_count()) report(&w.g, id, "a constant that the module does not have");
    }
    for_each_attr_symbol(n, [&](SymbolId s) {
      if (s.index() >= m_.symbols.size()) report(&w.g, id, "a symbol that the module does not have");
    });
    if (n.loc.valid() && n.loc.index() >= m_.loc_count()) report(&w.g, id, "a location that the module does not have");
  }

  // V7
  void define_symbols(const Walk& w, NodeId id) {
    for (const AttrValue& a : w.g.node(id).attrs) {
      const auto* symbols = std::get_if<std::vector<SymbolId>>(&a);
      if (symbols == nullptr) continue;
      for (SymbolId s : *symbols) {
        if (m_.symbols[s].kind != SymKind::kData) report(&w.g, id, cat("symbol s", s.v, " is defined by a node, but is no data symbol"));
        if (defined_[s.index()]) report(&w.g, id, cat("symbol ", m_.symbols.pretty(Dim(s)), " is defined twice"));
        defined_[s.index()] = visible_[s.index()] = 1;
      }
    }
  }

  // V7, V8: `s` may be spoken of here. What stands in the types of inputs is known; a derived symbol is if its operands are.
  void symbol_use(const Walk& w, NodeId id, SymbolId s) {
    if (s.index() >= visible_.size()) return;
    if (visible_[s.index()]) return;
    const Symbol& symbol = m_.symbols[s];
    if (symbol.kind == SymKind::kDerived) {
      const size_t before = found_.size();
      for_each_symbol(symbol.a, [&](SymbolId x) { symbol_use(w, id, x); });
      for_each_symbol(symbol.b, [&](SymbolId x) { symbol_use(w, id, x); });
      if (found_.size() == before) visible_[s.index()] = 1;
    } else if (symbol.kind == SymKind::kData) {
      report(&w.g, id, cat("data symbol ", m_.symbols.pretty(Dim(s)), " is used where no node has defined it"));
    } else {
      report(&w.g, id, cat("input symbol ", m_.symbols.pretty(Dim(s)), " is in no type of the entry's inputs"));
    }
  }

  // V6
  void value_type(const Walk& w, NodeId id, const Type& t) {
    if (t.kind == Type::Kind::kToken) return;
    if (t.dtype == DType::kInvalid) report(&w.g, id, "a type without a dtype");
    for (const Dim& d : t.shape) {
      if (m_.symbols.at_most(d, -1) == Ternary::kYes) report(&w.g, id, cat("negative extent in ", pretty(t)));
      for_each_symbol(d, [&](SymbolId s) { symbol_use(w, id, s); });
    }
  }

  // V5
  bool refines(const Type& stored, const Type& inferred) const {
    if (stored == inferred) return true;
    if (stored.kind != inferred.kind || stored.dtype != inferred.dtype || stored.has_shape != inferred.has_shape ||
        stored.rank() != inferred.rank())
      return false;
    const SymbolTable& symbols = scratch_->symbols;
    for (size_t k = 0; k < stored.shape.size(); ++k) {
      if (symbols.equal(stored.shape[k], inferred.shape[k]) == Ternary::kYes) continue;
      if (symbols.equal(stored.shape[k], inferred.shape[k]) == Ternary::kNo || !symbols.depends_on_kind(inferred.shape[k], SymKind::kData))
        return false;
    }
    return true;
  }
  void types(const Walk& w, NodeId id) {
    const Node& n = w.g.node(id);
    std::vector<Type> inferred;
    std::vector<ShapeValue> values;
    if (Status s = infer_node(*w.scratch, w.scratch->node(id), &inferred, &values); !s.ok()) return report(&w.g, id, s.error().message);
    if (inferred.size() != n.results.size())
      return report(&w.g, id, cat("op ", n.def().name, " infers ", inferred.size(), " results, got ", n.results.size()));
    for (size_t k = 0; k < inferred.size(); ++k) {
      if (refines(w.g.type(n.results[k]), inferred[k])) continue;
      report(&w.g, id,
             cat("result ", k, " is ", type_str(m_.symbols, w.g.type(n.results[k])), ", but its op infers ",
                 type_str(scratch_->symbols, inferred[k])));
    }
  }

  const Module& m_;
  VerifyOptions options_;
  std::unique_ptr<Module> scratch_;
  std::vector<uint8_t> defined_, visible_;  // by symbol, in the entry at hand
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> verify(const Module& m, const VerifyOptions& options) { return Verifier(m, options).run(); }

Status verify_or_error(const Module& m, const VerifyOptions& options) {
  constexpr size_t kShown = 5;
  const std::vector<Diagnostic> found = verify(m, options);
  if (found.empty()) return {};
  Error e(Code::kInvalidIr, cat("the IR does not verify: ", found[0].message));
  if (found[0].graph != nullptr && found[0].node.valid()) e.place.node = m.loc_str(found[0].graph->node(found[0].node).loc);
  for (size_t k = 0; k < found.size() && k < kShown; ++k) {
    const Diagnostic& d = found[k];
    if (k > 0) e.context.push_back(d.message);
    if (d.graph != nullptr && d.node.valid()) e.context.push_back(cat("  ", d.graph->name(), ": ", trim(print_node(*d.graph, d.node))));
  }
  if (found.size() > kShown) e.context.push_back(cat("and ", found.size() - kShown, " more problems"));
  return e;
}

}  // namespace nnc
