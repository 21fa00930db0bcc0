#include "ir/symbol_use.h"

namespace nnc {

namespace {

void mark_graph(const Graph& g, std::vector<uint8_t>& used) {
  const auto mark = [&](SymbolId s) {
    if (s.index() < used.size()) used[s.index()] = 1;
  };
  const auto mark_type = [&](ValueId v) {
    for (const Dim& d : g.type(v).shape) for_each_symbol(d, mark);
  };
  for (ValueId v : g.inputs()) mark_type(v);
  for (NodeId id = g.first(); id.valid(); id = g.node(id).next) {
    const Node& n = g.node(id);
    for (ValueId r : n.results) mark_type(r);
    for_each_attr_symbol(n, mark);
    for (RegionId r : n.regions) mark_graph(g.region(r), used);
  }
}

}  // namespace

std::vector<uint8_t> used_symbols(const Graph& g) {
  const SymbolTable& symbols = g.symbols();
  std::vector<uint8_t> used(symbols.size(), 0);
  mark_graph(g, used);
  const auto mark = [&](SymbolId s) { used[s.index()] = 1; };
  // Operands stand before what is derived from them.
  const auto close = [&] {
    for (size_t i = used.size(); i-- > 0;) {
      const Symbol& s = symbols[SymbolId(i)];
      if (!used[i] || s.kind != SymKind::kDerived) continue;
      for_each_symbol(s.a, mark);
      for_each_symbol(s.b, mark);
    }
  };
  close();
  for (size_t i = 0; i < used.size(); ++i) {
    const Symbol& s = symbols[SymbolId(i)];
    if (used[i] || s.kind != SymKind::kDerived || s.op != SymOp::kBroadcast) continue;
    bool all = true;
    const auto check = [&](SymbolId id) { all = all && used[id.index()]; };
    for_each_symbol(s.a, check);
    for_each_symbol(s.b, check);
    used[i] = all;
  }
  return used;
}

}  // namespace nnc
