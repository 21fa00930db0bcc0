#include <algorithm>

#include "ir/base/dim.h"
#include "ir/base/dim_poly.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

using Wide = __int128;

int64_t clamp64(Wide v) { return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : int64_t(v); }

// The operation of a derived symbol on numbers; nullopt where it has no value (division by zero, extents that do not broadcast).
std::optional<Wide> apply(const Symbol& s, int64_t a, int64_t b) {
  switch (s.op) {
    case SymOp::kFloorDiv: return b > 0 ? std::optional<Wide>(dim_detail::floor_div(a, b)) : std::nullopt;
    case SymOp::kMod: return b > 0 ? std::optional<Wide>(a - dim_detail::floor_div(a, b) * b) : std::nullopt;
    case SymOp::kMin: return std::min(a, b);
    case SymOp::kMax: return std::max(a, b);
    case SymOp::kBroadcast: return a == b || b == 1 ? std::optional<Wide>(a) : a == 1 ? std::optional<Wide>(b) : std::nullopt;
    case SymOp::kRound: return dim_detail::round_scaled(Wide(a) * s.num, s.den, s.mode);
    case SymOp::kOpaqueMul: return Wide(a) * b;
    case SymOp::kOpaqueAdd: return Wide(a) + b;
    case SymOp::kNone: break;
  }
  return std::nullopt;
}

int64_t saturating_eval(const Dim& d, const std::vector<int64_t>& values) {
  Wide sum = d.constant();
  for (const Term& t : d.terms()) {
    int64_t product = t.coeff;
    for (uint32_t s : t.mono.s)
      if (s != 0) product = clamp64(Wide(product) * values[s - 1]);
    sum += product;
  }
  return clamp64(sum);
}

// Without user information: 128 rounded up to the divisor, inside the bounds.
int64_t guess(const Symbol& s) {
  const Wide multiple = (Wide(128) + s.divisor - 1) / s.divisor * s.divisor;
  return std::clamp(clamp64(multiple), s.lo, s.hi);
}

template <class F> void for_each_symbol(const Dim& d, F&& f) {
  for (const Term& t : d.terms())
    for (uint32_t s : t.mono.s)
      if (s != 0) f(SymbolId(s - 1));
}

// The symbols that d needs, also through derived symbols. Operands precede what is derived from them.
std::vector<uint8_t> closure(const IdVec<SymbolId, Symbol>& symbols, const Dim& d) {
  std::vector<uint8_t> needed(symbols.size(), 0);
  const auto mark = [&](SymbolId id) { needed[id.index()] = 1; };
  for_each_symbol(d, mark);
  for (size_t i = symbols.size(); i-- > 0;) {
    const Symbol& s = symbols[SymbolId(i)];
    if (!needed[i] || s.kind != SymKind::kDerived) continue;
    for_each_symbol(s.a, mark);
    for_each_symbol(s.b, mark);
  }
  return needed;
}

}  // namespace

bool SymbolTable::depends_on(const Dim& d, SymbolId s) const {
  if (d.is_const()) return false;
  return closure(symbols_, d)[s.index()] != 0;
}

bool SymbolTable::depends_on_kind(const Dim& d, SymKind kind) const {
  if (d.is_const()) return false;
  const std::vector<uint8_t> needed = closure(symbols_, d);
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i] && symbols_[SymbolId(i)].kind == kind) return true;
  return false;
}

int64_t SymbolTable::typical(const Dim& d) const {
  if (d.is_const()) return d.constant();
  const std::vector<uint8_t> needed = closure(symbols_, d);
  std::vector<int64_t> values(symbols_.size(), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!needed[i]) continue;
    const Symbol& s = symbols_[SymbolId(i)];
    std::optional<Wide> v;
    if (s.typical != 0)
      v = s.typical;
    else if (s.kind == SymKind::kDerived)
      v = apply(s, saturating_eval(s.a, values), saturating_eval(s.b, values));
    values[i] = v ? std::clamp(clamp64(*v), s.lo, s.hi) : guess(s);
  }
  return saturating_eval(d, values);
}

Result<int64_t> SymbolTable::eval(const Dim& d, std::span<const int64_t> values) const {
  int64_t sum = d.constant();
  for (const Term& t : d.terms()) {
    int64_t product = t.coeff;
    bool overflow = false;
    for (uint32_t s : t.mono.s) {
      if (s == 0) continue;
      NNC_CHECK(s - 1 < values.size(), "a value for every symbol");
      overflow = overflow || __builtin_mul_overflow(product, values[s - 1], &product);
    }
    if (overflow || __builtin_add_overflow(sum, product, &sum)) return Error(Code::kLimit, cat("dim ", pretty(d), " does not fit 64 bits"));
  }
  return sum;
}

Result<int64_t> SymbolTable::evaluate(const Symbol& s, std::span<const int64_t> values) const {
  NNC_ASSIGN(const int64_t a, eval(s.a, values));
  NNC_ASSIGN(const int64_t b, eval(s.b, values));
  const std::optional<Wide> v = apply(s, a, b);
  if (v && *v == clamp64(*v)) return clamp64(*v);
  if (v)
    return Error(Code::kLimit,
                 cat("the extent derived from ", pretty(s.a), " = ", a, " and ", pretty(s.b), " = ", b, " does not fit 64 bits"));
  if (s.op == SymOp::kBroadcast)
    return Error(Code::kBadInput,
                 cat("extents ", pretty(s.a), " = ", a, " and ", pretty(s.b), " = ", b, " do not broadcast: equal or 1 expected"));
  return Error(Code::kBadInput, cat("division of ", pretty(s.a), " = ", a, " by ", pretty(s.b), " = ", b, ": a positive divisor expected"));
}

Status SymbolTable::derive(std::span<int64_t> values, std::span<uint8_t> known) const {
  NNC_CHECK(values.size() == symbols_.size() && known.size() == symbols_.size(), "a slot for every symbol");
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const Symbol& s = symbols_[SymbolId(i)];
    if (s.kind != SymKind::kDerived || known[i]) continue;
    bool ready = true;
    const auto check = [&](SymbolId id) { ready = ready && known[id.index()]; };
    for_each_symbol(s.a, check);
    for_each_symbol(s.b, check);
    if (!ready) continue;
    NNC_ASSIGN(values[i], evaluate(s, values));
    known[i] = 1;
  }
  return {};
}

Dim SymbolTable::substitute(const Dim& d, const std::map<SymbolId, Dim>& map) {
  Dim sum = d.constant();
  for (const Term& t : d.terms()) {
    Dim product = t.coeff;
    for (uint32_t s : t.mono.s) {
      if (s == 0) continue;
      const auto it = map.find(SymbolId(s - 1));
      NNC_CHECK(it != map.end(), "substitution of a symbol that the map lacks");
      product = mul(product, it->second);
    }
    sum = add(sum, product);
  }
  return sum;
}

std::optional<std::vector<Dim>> ShapeValue::dims() const {
  if (!known) return std::nullopt;
  std::vector<Dim> out;
  for (const auto& e : elems) {
    if (!e || e->den == 0) return std::nullopt;
    const auto scaled = DimPoly::mul(e->dim, e->num);
    auto whole = scaled ? DimPoly::div_exact(*scaled, e->den) : std::nullopt;
    if (!whole) return std::nullopt;
    out.push_back(std::move(*whole));
  }
  return out;
}

}  // namespace nnc
