#include "ir/base/plan_capacity.h"

#include <algorithm>

#include "ir/base/dim_poly.h"
#include "ir/support/text.h"

namespace nnc {

namespace {

Result<int64_t> in_64_bits(__int128 v) {
  if (v < INT64_MIN || v > INT64_MAX) return Error(Code::kLimit, "the largest value of an extent does not fit 64 bits");
  return static_cast<int64_t>(v);
}

Result<int64_t> symbol_capacity(const SymbolTable& symbols, SymbolId id, std::span<const int64_t> values) {
  const Symbol& s = symbols[id];
  if (s.kind != SymKind::kDerived) return s.binding == Binding::kBounded ? s.hi : values[id.index()];
  if (!is_bounded(symbols, s.a) && !is_bounded(symbols, s.b)) return values[id.index()];
  NNC_ASSIGN(const int64_t a, eval_capacity(symbols, s.a, values));
  NNC_ASSIGN(const int64_t b, eval_capacity(symbols, s.b, values));
  switch (s.op) {
    case SymOp::kFloorDiv:
      if (b <= 0) return Error(Code::kBadInput, cat("division of ", symbols.pretty(s.a), " by ", b));
      return in_64_bits(dim_detail::floor_div(a, b));
    case SymOp::kMin: return std::min(a, b);
    case SymOp::kMax: return std::max(a, b);
    case SymOp::kBroadcast: return a == 1 ? b : a;
    case SymOp::kRound: return in_64_bits(dim_detail::round_scaled(static_cast<__int128>(a) * s.num, s.den, s.mode));
    case SymOp::kOpaqueMul: return in_64_bits(static_cast<__int128>(a) * b);
    case SymOp::kOpaqueAdd: return in_64_bits(static_cast<__int128>(a) + b);
    default: return s.hi;  // mod is not monotonic
  }
}

}  // namespace

bool is_bounded(const SymbolTable& symbols, const Dim& d) {
  for (const Term& t : d.terms())
    for (uint32_t s : t.mono.s) {
      if (s == 0) continue;
      const Symbol& symbol = symbols[SymbolId(s - 1)];
      if (symbol.binding == Binding::kBounded) return true;
      if (symbol.kind == SymKind::kDerived && (is_bounded(symbols, symbol.a) || is_bounded(symbols, symbol.b))) return true;
    }
  return false;
}

Result<int64_t> eval_capacity(const SymbolTable& symbols, const Dim& d, std::span<const int64_t> values) {
  if (d.is_const()) return d.constant();
  if (!is_bounded(symbols, d)) return symbols.eval(d, values);
  __int128 sum = d.constant();
  for (const Term& t : d.terms()) {
    // A negative coefficient is at its largest where the symbol is at its smallest.
    __int128 product = t.coeff;
    for (uint32_t s : t.mono.s) {
      if (s == 0) continue;
      const SymbolId id(s - 1);
      int64_t v = 0;
      if (t.coeff < 0 && is_bounded(symbols, Dim(id))) {
        v = symbols.range(Dim(id)).lo;
      } else {
        NNC_ASSIGN(v, symbol_capacity(symbols, id, values));
      }
      NNC_ASSIGN(product, in_64_bits(product * v));
    }
    sum += product;
  }
  return in_64_bits(sum);
}

}  // namespace nnc
