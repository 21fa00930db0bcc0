#include "codegen/planner.h"

namespace nnc {

namespace {
bool bounded(const SymbolTable& symbols, const Dim& d) {
  for (const Term& t : d.terms())
    for (uint32_t s : t.mono.s)
      if (s != 0) {
        const Symbol& symbol = symbols[SymbolId(s - 1)];
        if (symbol.binding == Binding::kBounded) return true;
        if (symbol.kind == SymKind::kDerived && (bounded(symbols, symbol.a) || bounded(symbols, symbol.b))) return true;
      }
  return false;
}

Dim symbol_capacity(SymbolTable& symbols, SymbolId id) {
  const Symbol s = symbols[id];
  if (s.kind != SymKind::kDerived) return s.binding == Binding::kBounded ? Dim(s.hi) : Dim(id);
  if (!bounded(symbols, s.a) && !bounded(symbols, s.b)) return Dim(id);
  const Dim a = capacity(symbols, s.a), b = capacity(symbols, s.b);
  switch (s.op) {
    case SymOp::kFloorDiv: return symbols.floordiv(a, b);
    case SymOp::kMin: return symbols.min(a, b);
    case SymOp::kMax: return symbols.max(a, b);
    case SymOp::kBroadcast: return symbols.broadcast(a, b);
    case SymOp::kRound: return symbols.round(a, s.num, s.den, s.mode);
    case SymOp::kOpaqueMul: return symbols.mul(a, b);
    case SymOp::kOpaqueAdd: return symbols.add(a, b);
    default: return Dim(symbols.range(Dim(id)).hi);  // mod is not monotonic
  }
}
}  // namespace

Dim capacity(SymbolTable& symbols, const Dim& d) {
  if (d.is_const() || !bounded(symbols, d)) return d;
  Dim sum = d.constant();
  for (const Term& t : d.terms()) {
    // A negative coefficient is at its largest where the symbol is at its smallest.
    Dim product = t.coeff;
    for (uint32_t s : t.mono.s) {
      if (s == 0) continue;
      const SymbolId id(s - 1);
      product =
          symbols.mul(product, t.coeff < 0 && bounded(symbols, Dim(id)) ? Dim(symbols.range(Dim(id)).lo) : symbol_capacity(symbols, id));
    }
    sum = symbols.add(sum, product);
  }
  return sum;
}

}  // namespace nnc
