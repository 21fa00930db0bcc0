// Dead nodes: mark what effects and outputs need, values and symbols alike, then sweep the rest.

#include "ir/rewriter.h"
#include "ir/symbol_use.h"

namespace nnc {

namespace {

class Liveness {
 public:
  explicit Liveness(Graph& g) : g_(g), needed_(g.symbols().size()) {
    for (ValueId v : g.inputs()) need_type(g.type(v));
    // A node may become live through a symbol that a later round finds needed.
    do {
      changed_ = false;
      mark(g);
    } while (changed_);
  }
  int64_t sweep() { return sweep(g_); }

 private:
  struct Marks {
    IdMap<NodeId, uint8_t> nodes;
    IdMap<ValueId, uint8_t> values;
  };

  void need_symbol(SymbolId s) {
    if (s.index() >= needed_.size() || needed_[s.index()]) return;
    needed_[s.index()] = 1;
    changed_ = true;
    const Symbol& symbol = g_.symbols()[s];
    for_each_symbol(symbol.a, [&](SymbolId x) { need_symbol(x); });
    for_each_symbol(symbol.b, [&](SymbolId x) { need_symbol(x); });
  }
  void need_dims(const Shape& shape) {
    for (const Dim& d : shape) for_each_symbol(d, [&](SymbolId s) { need_symbol(s); });
  }
  void need_type(const Type& t) { need_dims(t.shape); }

  bool has_effect(const Graph& g, const Node& n) const {
    if (n.kind != OpKind::kBindDims && (n.def().traits & kEffect) != 0) return true;  // binding what nobody needs is no effect
    for (RegionId r : n.regions) {
      for (NodeId id = g.region(r).first(); id.valid(); id = g.region(r).node(id).next) {
        if (has_effect(g.region(r), g.region(r).node(id))) return true;
      }
    }
    return false;
  }
  bool defines_needed(const Node& n) const {
    for (const AttrValue& a : n.attrs) {
      const auto* symbols = std::get_if<std::vector<SymbolId>>(&a);
      if (symbols == nullptr) continue;
      for (SymbolId s : *symbols) {
        if (s.index() < needed_.size() && needed_[s.index()]) return true;
      }
    }
    return false;
  }

  void mark(const Graph& g) {
    Marks& m = marks_[&g];
    for (ValueId v : g.outputs()) {
      if (v.valid()) m.values[v] = 1;
    }
    for (NodeId id = g.last(); id.valid(); id = g.node(id).prev) {
      const Node& n = g.node(id);
      if (!m.nodes.get(id)) {
        bool live = has_effect(g, n) || defines_needed(n);
        for (ValueId r : n.results) live = live || m.values.get(r);
        if (!live) continue;
        m.nodes[id] = 1;
        changed_ = true;
        for (ValueId v : n.operands) {
          if (v.valid()) m.values[v] = 1;
        }
        for (ValueId r : n.results) need_type(g.type(r));
        for (const AttrValue& a : n.attrs) {
          if (const auto* dims = std::get_if<Shape>(&a)) need_dims(*dims);
        }
        for (RegionId r : n.regions) {
          for (ValueId v : g.region(r).inputs()) need_type(g.region(r).type(v));
        }
      }
      for (RegionId r : n.regions) mark(g.region(r));
    }
  }

  int64_t sweep(Graph& g) {
    int64_t removed = 0;
    const Marks& m = marks_[&g];
    for (NodeId id = g.last(); id.valid();) {
      const NodeId prev = g.node(id).prev;
      if (!m.nodes.get(id)) {
        g.erase(id);
        ++removed;
      } else {
        for (RegionId r : g.node(id).regions) removed += sweep(g.region(r));
      }
      id = prev;
    }
    return removed;
  }

  Graph& g_;
  std::vector<uint8_t> needed_;  // by symbol
  std::map<const Graph*, Marks> marks_;
  bool changed_ = false;
};

}  // namespace

int64_t Rewriter::remove_dead() { return Liveness(graph_).sweep(); }

}  // namespace nnc
