#include "ir/base/dim.h"

#include <algorithm>
#include <numeric>

#include "ir/base/dim_poly.h"
#include "ir/support/text.h"

namespace nnc {
namespace {

using Wide = __int128;
using dim_detail::floor_div;
using dim_detail::round_scaled;

int64_t clamp64(Wide v) { return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : int64_t(v); }
uint64_t magnitude(int64_t v) { return v < 0 ? 0 - uint64_t(v) : uint64_t(v); }
// The gcd, or for 2^63 (both operands INT64_MIN or 0) a divisor of it that fits.
int64_t gcd64(int64_t a, int64_t b) {
  const uint64_t g = std::gcd(magnitude(a), magnitude(b));
  return g > uint64_t(INT64_MAX) ? int64_t(1) << 62 : int64_t(g);
}

DimRange corners(Wide a, Wide b, Wide c, Wide d) { return {clamp64(std::min({a, b, c, d})), clamp64(std::max({a, b, c, d}))}; }
DimRange times(DimRange x, DimRange y) { return corners(Wide(x.lo) * y.lo, Wide(x.lo) * y.hi, Wide(x.hi) * y.lo, Wide(x.hi) * y.hi); }
DimRange floor_divide(DimRange x, DimRange y) {  // y > 0 or the evaluation fails
  const int64_t lo = std::max<int64_t>(y.lo, 1), hi = std::max<int64_t>(y.hi, 1);
  return corners(floor_div(x.lo, lo), floor_div(x.lo, hi), floor_div(x.hi, lo), floor_div(x.hi, hi));
}

DimRange derived_range(const Symbol& s, DimRange a, DimRange b) {
  switch (s.op) {
    case SymOp::kFloorDiv: return floor_divide(a, b);
    case SymOp::kMod: {
      const int64_t top = std::max<int64_t>(b.hi, 1) - 1;
      return {0, a.lo >= 0 ? std::min(top, a.hi) : top};
    }
    case SymOp::kMin: return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    case SymOp::kMax: return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    case SymOp::kBroadcast:  // a if a is not 1, else b
      if (a.lo > 1 || a.hi < 1) return a;
      if (b.lo > 1 || b.hi < 1) return b;
      return {a.lo == 1 && b.lo == 1 ? 1 : std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
    case SymOp::kRound: {
      const Wide x = round_scaled(Wide(a.lo) * s.num, s.den, s.mode), y = round_scaled(Wide(a.hi) * s.num, s.den, s.mode);
      return corners(x, y, x, y);
    }
    case SymOp::kOpaqueMul: return times(a, b);
    case SymOp::kOpaqueAdd: return {clamp64(Wide(a.lo) + b.lo), clamp64(Wide(a.hi) + b.hi)};
    case SymOp::kNone: break;
  }
  return {s.lo, s.hi};
}

// Divisors: 0 stands for the dim 0, which everything divides.
int64_t derived_divisor(const Symbol& s, int64_t a, int64_t b) {
  switch (s.op) {
    case SymOp::kFloorDiv: return s.b.is_const() && s.b.constant() > 0 && a % s.b.constant() == 0 ? a / s.b.constant() : 1;
    case SymOp::kOpaqueMul: {
      int64_t product;
      return __builtin_mul_overflow(a, b, &product) ? std::max(a, b) : product;
    }
    case SymOp::kMod:
    case SymOp::kMin:
    case SymOp::kMax:
    case SymOp::kBroadcast:
    case SymOp::kOpaqueAdd: return gcd64(a, b);
    case SymOp::kRound:
    case SymOp::kNone: break;
  }
  return 1;
}

}  // namespace

std::optional<SymbolId> Dim::as_symbol() const {
  if (constant_ != 0 || terms_.size() != 1 || terms_[0].coeff != 1 || terms_[0].mono.s[0] == 0 || terms_[0].mono.s[1] != 0)
    return std::nullopt;
  return SymbolId(terms_[0].mono.s[0] - 1);
}

bool Dim::uses(SymbolId s) const {
  for (const Term& t : terms_)
    if (std::find(t.mono.s.begin(), t.mono.s.end(), s.v + 1) != t.mono.s.end()) return true;
  return false;
}

SymbolId SymbolTable::input(std::string name, int64_t lo, int64_t hi, int64_t divisor, int64_t typical, Binding binding) {
  Symbol s;
  s.name = std::move(name);
  s.kind = SymKind::kInput;
  s.binding = binding;
  s.lo = lo;
  s.hi = hi;
  s.divisor = divisor;
  s.typical = typical;
  return add_raw(std::move(s));
}

SymbolId SymbolTable::data(std::string name, int64_t lo, int64_t hi, Binding binding) {
  Symbol s;
  s.name = std::move(name);
  s.kind = SymKind::kData;
  s.binding = binding;
  s.lo = lo;
  s.hi = hi;
  return add_raw(std::move(s));
}

SymbolId SymbolTable::add_raw(Symbol s) {
  NNC_CHECK(s.lo <= s.hi && s.divisor >= 1, "a symbol needs a value");
  NNC_CHECK((s.kind == SymKind::kDerived) == (s.op != SymOp::kNone), "derived symbols, and only they, have an operation");
  NNC_CHECK(s.op != SymOp::kRound || s.den > 0, "a rounded symbol needs a denominator");
  const Definition definition{s.op, s.a, s.b, s.num, s.den, s.mode};
  const bool is_derived = s.kind == SymKind::kDerived;
  const SymbolId id = symbols_.push(std::move(s));
  if (is_derived) interned_.try_emplace(definition, id);
  return id;
}

Result<SymbolId> SymbolTable::add_checked(Symbol s) {
  const size_t id = symbols_.size();
  const auto error = [&](std::string_view what) { return Error(Code::kInvalidIr, cat("symbol s", id, ": ", what)); };
  if (s.lo > s.hi) return error(cat("bounds ", s.lo, "..", s.hi, " hold no value"));
  if (s.divisor < 1 || s.typical < 0) return error("a positive divisor and a typical size of at least 0 expected");
  if (s.kind > SymKind::kDerived || s.binding > Binding::kBounded || s.op > SymOp::kOpaqueAdd)
    return error("unknown kind, binding or operation");
  if ((s.kind == SymKind::kDerived) != (s.op != SymOp::kNone)) return error("derived symbols, and only they, have an operation");
  if (s.op == SymOp::kRound && (s.den < 1 || s.mode < 0 || s.mode > 2))
    return error("rounding needs a positive denominator and a mode 0..2");
  for (const Dim* d : {&s.a, &s.b})
    for (const Term& t : d->terms())
      if (t.mono.s[0] > id) return error(cat("operand s", t.mono.s[0] - 1, " does not precede it"));
  if (s.kind == SymKind::kDerived && interned_.contains(Definition{s.op, s.a, s.b, s.num, s.den, s.mode}))
    return error("its definition occurs twice");
  return add_raw(std::move(s));
}

bool SymbolTable::narrow(SymbolId id, int64_t lo, int64_t hi, int64_t divisor) {
  NNC_CHECK(divisor >= 1, "a divisor is positive");
  Symbol& s = symbols_[id];
  lo = std::max(lo, s.lo);
  hi = std::min(hi, s.hi);
  int64_t multiple;
  if (__builtin_mul_overflow(s.divisor / gcd64(s.divisor, divisor), divisor, &multiple)) multiple = s.divisor;
  if (lo != INT64_MIN) lo = clamp64(-floor_div(-Wide(lo), multiple) * multiple);
  if (hi != INT64_MAX) hi = clamp64(floor_div(hi, multiple) * multiple);
  if (lo > hi) return false;
  if (lo == s.lo && hi == s.hi && multiple == s.divisor) return true;
  s.lo = lo;
  s.hi = hi;
  s.divisor = multiple;
  for (size_t i = id.index() + 1; i < symbols_.size(); ++i) refresh(symbols_[SymbolId(i)]);
  return true;
}

void SymbolTable::set_typical(SymbolId id, int64_t typical) { symbols_[id].typical = typical; }
void SymbolTable::set_binding(SymbolId id, Binding b) { symbols_[id].binding = b; }
void SymbolTable::rename(SymbolId id, std::string name) { symbols_[id].name = std::move(name); }

std::optional<SymbolId> SymbolTable::find(std::string_view name) const {
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[SymbolId(i)].name == name) return SymbolId(i);
  return std::nullopt;
}

void SymbolTable::refresh(Symbol& s) const {
  if (s.kind != SymKind::kDerived) return;
  const DimRange r = derived_range(s, range(s.a), range(s.b));
  // Bounds that contradict each other mean that no evaluation succeeds: any bounds are right then.
  if (std::max(s.lo, r.lo) <= std::min(s.hi, r.hi)) {
    s.lo = std::max(s.lo, r.lo);
    s.hi = std::min(s.hi, r.hi);
  }
  const int64_t d = derived_divisor(s, divisor(s.a), divisor(s.b));
  if (d > s.divisor && d % s.divisor == 0) s.divisor = d;
}

Dim SymbolTable::derived(SymOp op, const Dim& a, const Dim& b, int64_t num, int64_t den, int64_t mode) {
  const bool commutes =
      op == SymOp::kMin || op == SymOp::kMax || op == SymOp::kBroadcast || op == SymOp::kOpaqueMul || op == SymOp::kOpaqueAdd;
  const bool swap = commutes && b < a;
  Symbol s;
  s.kind = SymKind::kDerived;
  s.op = op;
  s.a = swap ? b : a;
  s.b = swap ? a : b;
  s.num = num;
  s.den = den;
  s.mode = mode;
  if (auto it = interned_.find(Definition{op, s.a, s.b, num, den, mode}); it != interned_.end()) return Dim(it->second);
  s.lo = INT64_MIN;
  s.hi = INT64_MAX;
  refresh(s);
  return Dim(add_raw(std::move(s)));
}

Dim SymbolTable::add(const Dim& a, const Dim& b) {
  auto sum = DimPoly::add(a, b);
  return sum ? std::move(*sum) : derived(SymOp::kOpaqueAdd, a, b);
}

Dim SymbolTable::sub(const Dim& a, const Dim& b) {
  auto difference = DimPoly::sub(a, b);
  return difference ? std::move(*difference) : derived(SymOp::kOpaqueAdd, a, mul(b, -1));
}

Dim SymbolTable::mul(const Dim& a, const Dim& b) {
  auto product = DimPoly::mul(a, b);
  return product ? std::move(*product) : derived(SymOp::kOpaqueMul, a, b);
}

Dim SymbolTable::mul(std::span<const Dim> factors) {
  // Sorted, so that what becomes opaque does not depend on the order of the axes.
  std::vector<Dim> sorted(factors.begin(), factors.end());
  std::sort(sorted.begin(), sorted.end());
  Dim product = 1;
  for (const Dim& f : sorted) product = mul(product, f);
  return product;
}

std::optional<Dim> SymbolTable::div_exact(const Dim& a, const Dim& b) const { return DimPoly::div_exact(a, b); }

std::optional<Dim> SymbolTable::quotient_of_bounds(const Dim& a, const Dim& b) const {
  const DimRange q = floor_divide(range(a), range(b));
  if (q.lo != q.hi || q.lo == INT64_MAX || q.lo == INT64_MIN) return std::nullopt;
  return Dim(q.lo);
}

Dim SymbolTable::floordiv(const Dim& a, const Dim& b) {
  if (b.is_const() && b.constant() <= 0) return derived(SymOp::kFloorDiv, a, b);
  if (auto q = DimPoly::div_exact(a, b)) return std::move(*q);
  if (auto q = quotient_of_bounds(a, b)) return std::move(*q);
  auto parts = DimPoly::divide(a, b);
  if (!parts) return derived(SymOp::kFloorDiv, a, b);
  auto& [quotient, rest] = *parts;
  if (auto q = quotient_of_bounds(rest, b)) return add(quotient, *q);
  // floor((g*p + c) / (g*k)) = floor((p + floor(c/g)) / k)
  const uint64_t g = std::gcd(DimPoly::content(rest, false), DimPoly::content(b, true));
  if (g > 1 && g <= uint64_t(INT64_MAX)) {
    const int64_t constant = int64_t(floor_div(rest.constant(), int64_t(g)));
    const auto variable = DimPoly::div_exact(*DimPoly::sub(rest, rest.constant()), int64_t(g));
    const auto reduced = DimPoly::add(*variable, constant);
    return add(quotient, floordiv(*reduced, *DimPoly::div_exact(b, int64_t(g))));
  }
  return add(quotient, derived(SymOp::kFloorDiv, rest, b));
}

Dim SymbolTable::ceildiv(const Dim& a, const Dim& b) {
  if (auto q = DimPoly::div_exact(a, b)) return std::move(*q);
  return floordiv(add(a, sub(b, 1)), b);
}

Dim SymbolTable::mod(const Dim& a, const Dim& b) {
  if (b.is_const() && b.constant() <= 0) return derived(SymOp::kMod, a, b);
  if (DimPoly::div_exact(a, b)) return 0;
  if (b.is_const() && divisible(a, b.constant()) == Ternary::kYes) return 0;
  const auto parts = DimPoly::divide(a, b);
  const Dim rest = parts ? parts->second : a;
  if (auto q = quotient_of_bounds(rest, b)) {
    if (q->is_const(0)) return rest;
    return sub(rest, mul(*q, b));
  }
  const uint64_t g = std::gcd(DimPoly::content(rest, true), DimPoly::content(b, true));
  if (g > 1 && g <= uint64_t(INT64_MAX)) {
    const int64_t k = int64_t(g);
    return mul(derived(SymOp::kMod, *DimPoly::div_exact(rest, k), *DimPoly::div_exact(b, k)), k);
  }
  return derived(SymOp::kMod, rest, b);
}

Dim SymbolTable::min(const Dim& a, const Dim& b) {
  if (at_most(a, b) == Ternary::kYes) return a;
  if (at_most(b, a) == Ternary::kYes) return b;
  return derived(SymOp::kMin, a, b);
}

Dim SymbolTable::max(const Dim& a, const Dim& b) {
  if (at_most(a, b) == Ternary::kYes) return b;
  if (at_most(b, a) == Ternary::kYes) return a;
  return derived(SymOp::kMax, a, b);
}

Dim SymbolTable::broadcast(const Dim& a, const Dim& b) {
  if (a == b || b.is_const(1)) return a;
  if (a.is_const(1)) return b;
  // One operand made of the other: broadcast(x, broadcast(x, y)) is what stands inside.
  const auto made_of = [&](const Dim& outer, const Dim& x, SymOp op) -> const Symbol* {
    const auto id = outer.as_symbol();
    if (!id || symbols_[*id].op != op) return nullptr;
    return symbols_[*id].a == x || symbols_[*id].b == x ? &symbols_[*id] : nullptr;
  };
  if (made_of(b, a, SymOp::kBroadcast)) return b;
  if (made_of(a, b, SymOp::kBroadcast)) return a;
  const Dim checked = derived(SymOp::kBroadcast, a, b);
  // min(x, k) with k > 1 meets x only where both are equal.
  for (const auto& [x, m] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Symbol* s = made_of(*m, *x, SymOp::kMin);
    if (s != nullptr && range(s->a == *x ? s->b : s->a).lo > 1) return *x;
  }
  if (a.is_const() && b.is_const()) return checked;
  return a.is_const() ? a : b.is_const() ? b : checked;
}

Dim SymbolTable::round(const Dim& a, int64_t num, int64_t den, int64_t mode) {
  NNC_CHECK(den != 0 && mode >= 0 && mode <= 2, "round needs a denominator and a mode");
  constexpr int64_t kSmall = 1 << 20;  // larger factors could overflow where the 128-bit evaluation of kRound does not
  const uint64_t wide_g = std::gcd(magnitude(num), magnitude(den));
  if (wide_g <= uint64_t(INT64_MAX) && num != INT64_MIN && den != INT64_MIN) {
    const int64_t g = den < 0 ? -int64_t(wide_g) : int64_t(wide_g);
    num /= g;
    den /= g;
  }
  NNC_CHECK(den > 0, "denominator out of range");
  if (den == 1) return mul(a, num);
  if (a.is_const()) {
    const Wide v = round_scaled(Wide(a.constant()) * num, den, mode);
    if (v == clamp64(v)) return clamp64(v);
    return derived(SymOp::kRound, a, 0, num, den, mode);
  }
  const auto scaled = DimPoly::mul(a, num);
  if (scaled) {
    if (auto q = DimPoly::div_exact(*scaled, den)) return std::move(*q);
    const bool is_small = num <= kSmall && num >= -kSmall && den <= kSmall;
    if (mode == 0 && is_small) return floordiv(*scaled, den);
    if (mode == 1 && is_small) return ceildiv(*scaled, den);
  }
  return derived(SymOp::kRound, a, 0, num, den, mode);
}

DimRange SymbolTable::range(const Dim& d) const {
  Wide lo = d.constant(), hi = d.constant();
  for (const Term& t : d.terms()) {
    DimRange product{t.coeff, t.coeff};
    for (uint32_t s : t.mono.s)
      if (s != 0) product = times(product, DimRange{symbols_[SymbolId(s - 1)].lo, symbols_[SymbolId(s - 1)].hi});
    lo += product.lo;
    hi += product.hi;
  }
  return {clamp64(lo), clamp64(hi)};
}

int64_t SymbolTable::divisor(const Dim& d) const {
  int64_t all = gcd64(d.constant(), 0);
  for (const Term& t : d.terms()) {
    int64_t product = gcd64(t.coeff, 0);
    for (uint32_t s : t.mono.s) {
      int64_t next;
      if (s != 0 && !__builtin_mul_overflow(product, symbols_[SymbolId(s - 1)].divisor, &next)) product = next;
    }
    all = gcd64(all, product);
  }
  return all;
}

Ternary SymbolTable::equal(const Dim& a, const Dim& b) const {
  if (a == b) return Ternary::kYes;
  const auto difference = DimPoly::sub(a, b);
  if (!difference) {
    const DimRange x = range(a), y = range(b);
    return x.hi < y.lo || y.hi < x.lo ? Ternary::kNo : Ternary::kUnknown;
  }
  const DimRange r = range(*difference);
  if (r.lo == 0 && r.hi == 0) return Ternary::kYes;
  if (r.lo > 0 || r.hi < 0) return Ternary::kNo;
  const auto variable = DimPoly::sub(*difference, difference->constant());
  const int64_t step = variable ? divisor(*variable) : 1;
  return step > 1 && difference->constant() % step != 0 ? Ternary::kNo : Ternary::kUnknown;
}

Ternary SymbolTable::at_most(const Dim& a, int64_t k) const {
  const DimRange r = range(a);
  return r.hi <= k ? Ternary::kYes : r.lo > k ? Ternary::kNo : Ternary::kUnknown;
}

Ternary SymbolTable::at_least(const Dim& a, int64_t k) const {
  const DimRange r = range(a);
  return r.lo >= k ? Ternary::kYes : r.hi < k ? Ternary::kNo : Ternary::kUnknown;
}

Ternary SymbolTable::at_most(const Dim& a, const Dim& b) const {
  if (const auto difference = DimPoly::sub(a, b)) return at_most(*difference, 0);
  const DimRange x = range(a), y = range(b);
  return x.hi <= y.lo ? Ternary::kYes : x.lo > y.hi ? Ternary::kNo : Ternary::kUnknown;
}

Ternary SymbolTable::divisible(const Dim& a, int64_t k) const {
  NNC_CHECK(k >= 1, "divisibility by a positive number");
  if (divisor(a) % k == 0) return Ternary::kYes;
  if (a.is_const()) return Ternary::kNo;
  const DimRange r = range(a);
  if (r.lo == r.hi && r.lo != INT64_MAX && r.lo != INT64_MIN) return r.lo % k == 0 ? Ternary::kYes : Ternary::kNo;
  const auto variable = DimPoly::sub(a, a.constant());
  const int64_t step = variable ? gcd64(divisor(*variable), k) : 1;
  return step > 1 && a.constant() % step != 0 ? Ternary::kNo : Ternary::kUnknown;
}

}  // namespace nnc
