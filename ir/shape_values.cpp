#include "ir/shape_values.h"

#include <cmath>
#include <numeric>

#include "ir/support/text.h"

namespace nnc {
namespace {

constexpr int64_t kMaxFloatDen = 4096;
constexpr int64_t kEndless = int64_t(1) << 29;

// Greatest common factor of `start` and all coefficients.
int64_t content(const Dim& d, int64_t start) {
  int64_t g = start;
  const auto add = [&g](int64_t c) { g = c == INT64_MIN ? std::gcd(g, int64_t(1)) : std::gcd(g, c); };
  add(d.constant());
  for (const Term& t : d.terms()) add(t.coeff);
  return g;
}

bool power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

std::optional<int64_t> as_constant(const Rational& r) {
  if (!r.dim.is_const() || r.num != 1 || r.den != 1) return std::nullopt;
  return r.dim.constant();
}

bool is_integer(const Rational& r) { return r.num == 1 && r.den == 1; }

// Of constants, what leaves 64 bits is not known: the op wraps, and a symbol that no run can evaluate would fail each.
std::optional<Dim> within_64_bits(SymbolTable& t, RationalOp op, const Dim& a, const Dim& b) {
  int64_t r = 0;
  if (a.is_const() && b.is_const()) {
    const int64_t x = a.constant(), y = b.constant();
    const bool overflow = op == RationalOp::kAdd   ? __builtin_add_overflow(x, y, &r)
                          : op == RationalOp::kSub ? __builtin_sub_overflow(x, y, &r)
                                                   : __builtin_mul_overflow(x, y, &r);
    return overflow ? std::nullopt : std::optional<Dim>(r);
  }
  return op == RationalOp::kAdd ? t.add(a, b) : op == RationalOp::kSub ? t.sub(a, b) : t.mul(a, b);
}
std::optional<Dim> product(SymbolTable& t, const Dim& a, const Dim& b) { return within_64_bits(t, RationalOp::kMul, a, b); }

// a * x - b * y over the common denominator, for comparisons and sums.
std::optional<Rational> weighted(SymbolTable& t, const Rational& a, const Rational& b, bool subtract) {
  int64_t den = 0;
  if (__builtin_mul_overflow(a.den, b.den, &den)) return std::nullopt;
  const auto x = product(t, a.dim, Dim(b.den)), y = product(t, b.dim, Dim(a.den));
  if (!x || !y) return std::nullopt;
  const auto sum = within_64_bits(t, subtract ? RationalOp::kSub : RationalOp::kAdd, *x, *y);
  return sum ? make_rational(t, *sum, 1, den) : std::nullopt;
}

std::optional<Rational> extreme(SymbolTable& t, const Rational& a, const Rational& b, bool want_max) {
  const Ternary less = rational_less(t, a, b);
  if (less != Ternary::kUnknown) return (less == Ternary::kYes) == want_max ? b : a;
  const Ternary greater = rational_less(t, b, a);
  if (greater == Ternary::kYes) return want_max ? a : b;
  if (greater == Ternary::kNo) return want_max ? b : a;
  int64_t den = 0;
  if (__builtin_mul_overflow(a.den, b.den, &den)) return std::nullopt;
  const auto x = product(t, a.dim, Dim(b.den)), y = product(t, b.dim, Dim(a.den));
  return x && y ? make_rational(t, want_max ? t.max(*x, *y) : t.min(*x, *y), 1, den) : std::nullopt;
}

std::optional<Rational> divide_integers(SymbolTable& t, const Rational& a, const Rational& b) {
  const auto x = as_constant(a), y = as_constant(b);
  if (y && *y == 0) return Rational{Dim(0)};
  if (x && y) return *x == INT64_MIN && *y == -1 ? std::nullopt : std::optional(Rational{Dim(*x / *y)});
  if (auto exact = t.div_exact(a.dim, b.dim); exact && t.at_least(b.dim, 1) == Ternary::kYes) return Rational{*exact};
  if (t.at_least(a.dim, 0) != Ternary::kYes || t.at_least(b.dim, 1) != Ternary::kYes) return std::nullopt;
  return Rational{t.floordiv(a.dim, b.dim)};
}

std::optional<Rational> modulo_integers(SymbolTable& t, const Rational& a, const Rational& b, bool truncated) {
  const auto x = as_constant(a), y = as_constant(b);
  if (y && *y == 0) return Rational{Dim(0)};
  if (x && y) {
    if (*y == -1) return Rational{Dim(0)};
    const int64_t r = *x % *y;
    return Rational{Dim(!truncated && r != 0 && (r < 0) != (*y < 0) ? r + *y : r)};
  }
  if (t.at_least(b.dim, 1) != Ternary::kYes) return std::nullopt;
  if (truncated && t.at_least(a.dim, 0) != Ternary::kYes) return std::nullopt;
  return Rational{t.mod(a.dim, b.dim)};
}

std::optional<Rational> combine_floats(SymbolTable& t, RationalOp op, const Rational& a, const Rational& b) {
  if (!power_of_two(a.den) || !power_of_two(b.den)) return std::nullopt;
  std::optional<Rational> r;
  int64_t den = 0;
  switch (op) {
    case RationalOp::kAdd: r = weighted(t, a, b, false); break;
    case RationalOp::kSub: r = weighted(t, a, b, true); break;
    case RationalOp::kMul:
      if (__builtin_mul_overflow(a.den, b.den, &den)) return std::nullopt;
      if (const auto numerator = product(t, a.dim, b.dim)) r = make_rational(t, *numerator, 1, den);
      break;
    case RationalOp::kDiv:
      if (b.dim.is_const()) {
        if (b.dim.is_const(0) || __builtin_mul_overflow(a.den, b.dim.constant(), &den)) return std::nullopt;
        if (const auto numerator = product(t, a.dim, Dim(b.den))) r = make_rational(t, *numerator, 1, den);
      } else if (t.at_least(b.dim, 1) == Ternary::kYes) {
        const auto numerator = product(t, a.dim, Dim(b.den));
        const auto exact = numerator ? t.div_exact(*numerator, b.dim) : std::nullopt;
        if (exact) r = make_rational(t, *exact, 1, a.den);
      }
      break;
    default: return std::nullopt;
  }
  if (!r || r->den > kMaxFloatDen) return std::nullopt;
  return r;
}

}  // namespace

std::optional<Rational> make_rational(SymbolTable& symbols, const Dim& dim, int64_t num, int64_t den) {
  if (den == 0 || den == INT64_MIN || num == INT64_MIN) return std::nullopt;
  if (den < 0) {
    den = -den;
    num = -num;
  }
  const int64_t small = std::gcd(num, den);
  if (small > 1) {
    num /= small;
    den /= small;
  }
  const auto numerator = product(symbols, dim, Dim(num));
  if (!numerator) return std::nullopt;
  Dim d = *numerator;
  const int64_t g = content(d, den);
  if (g > 1) {
    const auto reduced = symbols.div_exact(d, Dim(g));
    if (!reduced) return std::nullopt;
    d = *reduced;
    den /= g;
  }
  return Rational{d, 1, den};
}

std::optional<Rational> exact_rational(double v) {
  if (!std::isfinite(v) || std::fabs(v) >= 0x1p52) return std::nullopt;
  int64_t den = 1;
  while (v != std::floor(v)) {
    v *= 2;
    den *= 2;
    if (den > (int64_t(1) << 40) || std::fabs(v) >= 0x1p52) return std::nullopt;
  }
  return Rational{Dim(static_cast<int64_t>(v)), 1, den};
}

std::optional<double> constant_value(const Rational& r) {
  if (!r.dim.is_const()) return std::nullopt;
  return static_cast<double>(r.dim.constant()) * static_cast<double>(r.num) / static_cast<double>(r.den);
}

std::optional<Rational> combine(SymbolTable& symbols, RationalOp op, const Rational& a, const Rational& b, bool integer) {
  if (op == RationalOp::kMin || op == RationalOp::kMax) return extreme(symbols, a, b, op == RationalOp::kMax);
  if (!integer) return combine_floats(symbols, op, a, b);
  if (!is_integer(a) || !is_integer(b)) return std::nullopt;
  switch (op) {
    case RationalOp::kAdd:
    case RationalOp::kSub:
    case RationalOp::kMul: {
      const auto d = within_64_bits(symbols, op, a.dim, b.dim);
      return d ? std::optional(Rational{*d}) : std::nullopt;
    }
    case RationalOp::kDiv: return divide_integers(symbols, a, b);
    case RationalOp::kFloorMod: return modulo_integers(symbols, a, b, false);
    case RationalOp::kTruncMod: return modulo_integers(symbols, a, b, true);
    default: return std::nullopt;
  }
}

std::optional<Rational> round_rational(SymbolTable& symbols, const Rational& a, RoundTo mode) {
  if (a.den == 1) return a;
  if (mode == RoundTo::kZero) {
    if (symbols.at_least(a.dim, 0) == Ternary::kYes)
      mode = RoundTo::kFloor;
    else if (symbols.at_most(a.dim, int64_t(0)) == Ternary::kYes)
      mode = RoundTo::kCeil;
    else
      return std::nullopt;
  }
  const int64_t factor = content(a.dim, 0);
  Dim base = a.dim;
  int64_t num = 1;
  if (factor > 1) {
    if (auto reduced = symbols.div_exact(a.dim, Dim(factor))) {
      base = *reduced;
      num = factor;
    }
  }
  const int64_t code = mode == RoundTo::kFloor ? 0 : mode == RoundTo::kCeil ? 1 : 2;
  return Rational{symbols.round(base, num, a.den, code)};
}

Ternary rational_equal(SymbolTable& symbols, const Rational& a, const Rational& b) {
  if (a == b) return Ternary::kYes;
  const auto difference = weighted(symbols, a, b, true);
  return difference ? symbols.equal(difference->dim, Dim(0)) : Ternary::kUnknown;
}

Ternary rational_less(SymbolTable& symbols, const Rational& a, const Rational& b) {
  const auto difference = weighted(symbols, a, b, true);
  return difference ? symbols.at_most(difference->dim, int64_t(-1)) : Ternary::kUnknown;
}

std::optional<size_t> shape_value_count(const Type& t) {
  if (!t.is_tensor() || t.rank() > 1) return std::nullopt;
  if (t.dtype != DType::kBool && t.dtype != DType::kI32 && t.dtype != DType::kI64 && t.dtype != DType::kF32 && t.dtype != DType::kF64)
    return std::nullopt;
  if (t.rank() == 0) return 1;
  const Dim& n = t.shape[0];
  if (!n.is_const() || n.constant() < 0 || n.constant() > static_cast<int64_t>(kMaxShapeValue)) return std::nullopt;
  return static_cast<size_t>(n.constant());
}

ShapeValue known_value(std::vector<std::optional<Rational>> elems) {
  ShapeValue v;
  v.known = elems.empty();
  for (const auto& e : elems) v.known = v.known || e.has_value();
  if (v.known) v.elems = std::move(elems);
  return v;
}

ShapeValue known_value(std::span<const Dim> dims) {
  std::vector<std::optional<Rational>> elems;
  for (const Dim& d : dims) elems.push_back(Rational{d});
  return known_value(std::move(elems));
}

SliceBounds clamp_slice(SymbolTable& t, const Dim& n, const Dim& start, const Dim& end, int64_t step) {
  const Dim lo = step > 0 ? Dim(0) : Dim(-1), hi = step > 0 ? n : t.sub(n, Dim(1));
  const auto place = [&](const Dim& p) {
    if (p.is_const() && p.constant() >= kDimMax) return hi;
    // "To the end", as exporters write it: an input's extent beyond it is refused at the call.
    const auto input = n.as_symbol();
    if (p.is_const() && p.constant() >= kEndless && input && t[*input].kind == SymKind::kInput && t.narrow(*input, INT64_MIN, p.constant()))
      return hi;
    if (p.is_const() && p.constant() < -kDimMax) return lo;
    Dim q = p;
    const Ternary negative = t.at_most(p, int64_t(-1));
    if (negative == Ternary::kYes) {
      q = t.add(p, n);
    } else if (negative == Ternary::kUnknown) {
      // p + n for p < 0, else p: floordiv by 2^62 is -1 or 0 for every position that fits.
      q = t.sub(p, t.mul(n, t.floordiv(p, Dim(int64_t(1) << 62))));
    }
    if (t.at_most(q, hi) != Ternary::kYes) q = t.min(q, hi);
    if (t.at_least(q, lo.constant()) != Ternary::kYes) q = t.max(q, lo);
    return q;
  };
  return {place(start), place(end)};
}

Dim slice_extent(SymbolTable& t, const Dim& start, const Dim& end, int64_t step) {
  const Dim length = step > 0 ? t.sub(end, start) : t.sub(start, end);
  const Dim count = t.ceildiv(length, Dim(step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step));
  return t.at_least(count, 0) == Ternary::kYes ? count : t.max(count, Dim(0));
}

Result<std::optional<Shape>> resolve_reshape(SymbolTable& t, const Shape& input, const Shape& requested, bool allowzero) {
  const auto refuse = [&](std::string_view why) {
    return Error(Code::kInvalidModel, cat("a tensor of shape ", t.str(input), " cannot become ", t.str(requested), ": ", why));
  };
  Shape out = requested;
  std::optional<size_t> open;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_const(0) && !allowzero) {
      if (i >= input.size()) return refuse("0 copies an extent that the input does not have");
      out[i] = input[i];
    } else if (out[i].is_const(-1)) {
      if (open) return refuse("-1 stands twice");
      open = i;
    } else if (out[i].is_const()) {
      if (out[i].constant() < 0) return refuse("an extent is negative");
    } else if (t.at_least(out[i], 0) != Ternary::kYes) {
      return std::optional<Shape>();
    }
  }
  const Dim total = t.mul(input);
  if (!open) {
    if (t.equal(total, t.mul(out)) == Ternary::kNo) return refuse("the number of elements differs");
    return std::optional(out);
  }
  out[*open] = Dim(1);
  const Dim rest = t.mul(out);
  if (rest.is_const(0)) {
    if (t.equal(total, Dim(0)) == Ternary::kNo || allowzero) return refuse("-1 beside an extent of 0 stands for no number");
    out[*open] = Dim(0);
    return std::optional(out);
  }
  if (auto exact = t.div_exact(total, rest)) {
    out[*open] = *exact;
  } else {
    if (rest.is_const() && t.divisible(total, rest.constant()) == Ternary::kNo)
      return refuse("the number of elements is no multiple of the given extents");
    out[*open] = t.floordiv(total, rest);
  }
  return std::optional(out);
}

}  // namespace nnc
