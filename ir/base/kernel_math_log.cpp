// log, log2, pow.

#include <cmath>
#include <limits>

#include "ir/base/kernel_math.h"

namespace nnc::math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLog2e = 1.4426950408889634074;

struct Split {
  V exponent, f;  // x = 2^exponent (1 + f), 1 + f in [sqrt(1/2), sqrt(2))
};
// For positive finite x, subnormal ones included if `subnormals`.
Split split(Writer& w, V x, bool subnormals) {
  const Format& f = format_of(w.elem(x));
  const int up = f.mantissa + 2;
  V scaled = x, correction;
  if (subnormals) {
    const V tiny = w.let("tiny", w.lt(x, w.value(f.type, std::ldexp(1.0, 1 - f.bias))));
    scaled = w.select(tiny, w.mul(x, w.value(f.type, std::ldexp(1.0, up))), x);
    correction = w.select(tiny, w.value(f.type, -up), w.value(f.type, 0));
  }
  const V bits = w.let("i", w.as(f.whole, scaled));
  const V above = w.sub(bits, whole_constant(w, f, f.wide() ? 0x3fe6a09e667f3bcd : 0x3f3504f3));
  const V exponent = w.let("k", w.op(ExprOp::kShr, above, whole_constant(w, f, f.mantissa)));
  const V m = w.as(f.type, w.sub(bits, shift_left(w, f, exponent, f.mantissa)));
  const V whole = w.to(f.type, exponent);
  return {w.let("e", subnormals ? w.add(whole, correction) : whole), w.let("f", w.sub(m, w.value(f.type, 1)))};
}

// log(1 + f) = f + y
V log_tail(Writer& w, V f) {
  const Format& t = format_of(w.elem(f));
  const V z = w.let("q", w.mul(f, f));
  if (!t.wide()) {
    const V p = w.horner(f, t.type, {0.3333333, -0.25000823, 0.20001228, -0.16623354, 0.14201722, -0.13160193, 0.12761845, -0.076347895});
    return w.let("y", w.fma(w.value(t.type, -0.5), z, w.mul(w.mul(z, f), p)));
  }
  // With s = f / (2 + f): log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 R(s^2)).
  const V s = w.let("s", w.div(f, w.add(f, w.value(t.type, 2))));
  const V s2 = w.let("s2", w.mul(s, s));
  const V r = w.mul(s2, w.horner(s2, t.type,
                                 {0.6666666666666666, 0.4000000000000625, 0.28571428569085927, 0.22222222646788004, 0.18181775666355396,
                                  0.1538709071543851, 0.13250119179249994, 0.1325131883880842}));
  const V half = w.let("h", w.mul(z, w.value(t.type, 0.5)));
  return w.let("y", w.sub(w.mul(s, w.add(half, r)), half));
}

// The value outside (0, inf).
V special(Writer& w, V x, V inside) {
  const Format& f = format_of(w.elem(x));
  const V zero = w.value(f.type, 0);
  const V nan = w.bits(f.type, f.wide() ? 0x7ff8000000000000 : 0x7fc00000);
  const V positive = w.select(w.lt(x, w.value(f.type, kInf)), inside, x);
  return w.select(w.lt(zero, x), positive, w.select(w.eq(x, zero), w.value(f.type, -kInf), nan));
}

}  // namespace

V log(Writer& w, V x) {
  const Format& f = format_of(w.elem(x));
  const Split s = split(w, x, true);
  const V y = w.fma(s.exponent, w.value(f.type, f.wide() ? 0x1.abc9e3b39803fp-56 : 0x1.efa39ep-25), log_tail(w, s.f));
  return special(w, x, w.fma(s.exponent, w.value(f.type, f.wide() ? 0x1.62e42fefa39efp-1 : 0x1.62e42ep-1), w.add(s.f, y)));
}

V log2(Writer& w, V x) {
  const Format& f = format_of(w.elem(x));
  const Split s = split(w, x, true);
  const V scale = w.value(f.type, kLog2e);
  const V low = w.value(f.type, f.wide() ? 0x1.777d0ffda0d24p-56 : kLog2e - double(float(kLog2e)));
  const V y = w.fma(log_tail(w, s.f), scale, w.fma(s.f, low, s.exponent));
  return special(w, x, w.fma(s.f, scale, y));
}

namespace {

struct Two {
  V high, low;
};
// high + low where |a| >= |b| or a = 0.
Two fast_sum(Writer& w, V a, V b) {
  const V s = w.let("sum", w.add(a, b));
  return {s, w.add(w.sub(a, s), b)};
}
Two product(Writer& w, V a, V b) {
  const V p = w.let("product", w.mul(a, b));
  return {p, w.fma(a, b, w.negate(p))};
}

// log2 of positive finite f64 with some 66 bits.
Two log2_long(Writer& w, V x) {
  constexpr DType d = DType::kF64;
  const auto c = [&](double v) { return w.value(d, v); };
  const Split p = split(w, x, true);
  const V m = w.let("m", w.add(p.f, c(1)));
  const V high = w.let("d", w.add(m, c(1)));
  const V low = w.let("dl", w.sub(m, w.sub(high, c(1))));
  const V s = w.let("s", w.div(p.f, high));
  const V rest = w.fma(w.negate(s), low, w.fma(w.negate(s), high, p.f));
  const V s_low = w.let("sl", w.div(rest, high));
  const Two zz = product(w, s, s);
  const V z_low = w.let("zl", w.fma(w.add(s, s), s_low, zz.low));
  // 2/3 + z (2/5 + ...)
  const V tail = w.let("w", w.mul(zz.high, w.horner(zz.high, d,
                                                    {0.39999999999999936, 0.28571428571458574, 0.2222222221534626, 0.18181819072536407,
                                                     0.15384545801284236, 0.13336673298841767, 0.11668610259841995, 0.1203436708815158})));
  const Two a = fast_sum(w, c(0x1.5555555555555p-1), tail);
  const V a_low = w.let("al", w.add(a.low, c(0x1.5555555555555p-55)));
  const Two t = product(w, zz.high, a.high);
  const V t_low = w.add(w.fma(zz.high, a_low, t.low), w.mul(z_low, a.high));
  const Two b = fast_sum(w, c(2), t.high);
  const V b_low = w.let("bl", w.add(b.low, t_low));
  const Two l = product(w, s, b.high);
  const V l_low = w.add(w.fma(s, b_low, l.low), w.mul(s_low, b.high));
  const Two e = product(w, l.high, c(0x1.71547652b82fep+0));
  const V e_low = w.add(w.fma(l.high, c(0x1.777d0ffda0d24p-56), e.low), w.mul(l_low, c(0x1.71547652b82fep+0)));
  const Two sum = fast_sum(w, p.exponent, e.high);
  return {sum.high, w.let("low", w.add(sum.low, e_low))};
}

// |x|^y in f64; x given as its f64 magnitude. `f32_result`: the caller rounds to f32, so less will do.
V power(Writer& w, V a, V y, bool f32_result) {
  constexpr DType d = DType::kF64;
  const auto c = [&](double v) { return w.value(d, v); };
  Two lg;
  if (f32_result) {
    const Split p = split(w, a, false);  // f32 subnormals are normal here
    const V s = w.let("s", w.div(p.f, w.add(p.f, c(2))));
    const V z = w.let("q", w.mul(s, s));
    const V l =
        w.mul(s, w.fma(z, w.horner(z, d, {0.6666666564558572, 0.4000033522718055, 0.28537303317705087, 0.23582288699072324}), c(2)));
    lg = {w.fma(l, c(kLog2e), p.exponent), {}};
  } else {
    lg = log2_long(w, a);
  }
  const V edge = w.let("edge", w.either(w.eq(a, c(0)), w.eq(a, c(kInf))));
  const V high = w.let("lg", w.select(edge, w.select(w.eq(a, c(0)), c(-kInf), c(kInf)), lg.high));
  // 1 to any power, infinite ones too, is 1.
  const V t = w.let("t", w.select(w.eq(high, c(0)), c(0), w.mul(y, high)));
  const V top = w.let("c", f32_result ? w.clamp(t, -200, 200) : w.clamp(t, -1100, 1100));
  const V shifted = w.let("z", w.add(top, c(format_of(d).magic)));
  V r = w.sub(top, w.sub(shifted, c(format_of(d).magic)));
  if (f32_result) {
    // Eight terms are enough for 2^-40.
    const V p = w.horner(w.let("r", r), d,
                         {1.0, 0.693147180548121, 0.2402265069812841, 0.05550410935672595, 0.00961812861312727, 0.0013333454451895906,
                          0.0001540382667041527, 1.5309268081003626e-05, 1.3178855505798157e-06});
    const Format& f = format_of(d);
    const V exponent = shift_left(w, f, w.as(f.whole, shifted), f.mantissa);
    return w.mul(p, w.as(d, w.add(exponent, whole_constant(w, f, int64_t(f.bias) << f.mantissa))));
  }
  const V low = w.fma(y, lg.low, w.fma(y, high, w.negate(t)));
  const V finite = w.lt(w.op(ExprOp::kAbs, t), c(1100));
  const V exact = w.either(edge, w.eq(high, c(0)));
  r = w.let("r", w.add(r, w.select(w.both(finite, w.negate(exact)), low, c(0))));
  return scale(w, exp2_poly(w, r), shifted, w.let("falls", w.lt(top, c(0))));
}

}  // namespace

V pow(Writer& w, V x, V y) {
  const Format& f = format_of(w.elem(x));
  const auto c = [&](double v) { return w.value(f.type, v); };
  const V a = w.let("a", w.op(ExprOp::kAbs, x));
  V r;
  if (f.wide())
    r = power(w, a, y, false);
  else
    r = w.to(f.type, power(w, w.let("a", w.to(DType::kF64, a)), w.to(DType::kF64, y), true));
  r = w.let("r", r);
  const auto is_whole = [&](V v) { return w.eq(w.op(ExprOp::kTrunc, v), v); };
  const V whole = w.let("whole", is_whole(y));
  const V odd = w.both(whole, w.negate(is_whole(w.mul(y, c(0.5)))));
  const V sign = w.lt(w.as(f.whole, x), whole_constant(w, f, 0));  // -0 too
  r = w.select(w.both(odd, sign), w.negate(r), r);
  const V none = w.both(w.both(w.lt(x, c(0)), w.lt(c(-kInf), x)), w.negate(whole));
  r = w.select(none, w.bits(f.type, f.wide() ? 0x7ff8000000000000 : 0x7fc00000), r);
  r = w.select(w.op(ExprOp::kIsNan, x), x, r);
  return w.select(w.either(w.eq(y, c(0)), w.eq(x, c(1))), c(1), r);
}

}  // namespace nnc::math
