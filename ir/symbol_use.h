#pragma once
// Which symbols a graph speaks of. The symbol table also holds what inference only passed through; that is neither printed nor evaluated.

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace nnc {

// By symbol index: the symbol occurs in a type or attribute of the graph or its regions, or is what such a symbol is derived from, or is a
// broadcast of two of these (a check that `SymbolTable::derive` makes, also where the result is a constant).
std::vector<uint8_t> used_symbols(const Graph& g);

// Calls f(SymbolId) for each symbol that stands in `d` itself, once per occurrence.
template <class F> void for_each_symbol(const Dim& d, F&& f) {
  for (const Term& t : d.terms()) {
    for (uint32_t s : t.mono.s) {
      if (s != 0) f(SymbolId(s - 1));
    }
  }
}
// The same for a node's attributes: dims, and symbols that the node defines.
template <class F> void for_each_attr_symbol(const Node& n, F&& f) {
  for (const AttrValue& a : n.attrs) {
    if (const auto* dims = std::get_if<Shape>(&a)) {
      for (const Dim& d : *dims) for_each_symbol(d, f);
    } else if (const auto* symbols = std::get_if<std::vector<SymbolId>>(&a)) {
      for (SymbolId s : *symbols) f(s);
    }
  }
}

}  // namespace nnc
