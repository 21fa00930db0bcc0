// sin and cos: x = n pi/2 + r, then a polynomial of r chosen by n modulo 4. Up to a limit the reduction is three fused steps; beyond, in a
// branch that is rarely taken, f32 goes through the digits of 2/pi in f64, good for every finite value. f64 beyond its limit loses digits
// with every power of two: it stays in [-1, 1], and where a double holds no fraction of a turn any more it is that of a whole number of
// turns.

#include <cmath>

#include "ir/base/kernel_math.h"

namespace nnc::math {
namespace {

constexpr double kTwoOverPi = 0.63661977236758134308;

struct Turned {
  V r, quadrant;  // quadrant: whole, only the low two bits count
};

V fused_steps(Writer& w, const Format& f, V n, V x) {
  // pi/2 cut into parts, each rounded down: n * part is negated and -0 survives.
  V r = x;
  if (f.wide())
    for (double part : {0x1.921fb54442d18p+0, 0x1.1a62633145c06p-54, 0x1.c1cd129024e08p-107}) r = w.fma(n, w.value(f.type, -part), r);
  else
    for (double part : {0x1.921fb4p+0, 0x1.4442dp-24, 0x1.846988p-48}) r = w.fma(n, w.value(f.type, -part), r);
  return r;
}

Turned turn_near(Writer& w, V x) {
  const Format& f = format_of(w.elem(x));
  const V magic = w.value(f.type, f.magic);
  const V shifted = w.let("z", w.fma(x, w.value(f.type, kTwoOverPi), magic));
  const V n = w.let("n", w.sub(shifted, magic));
  return {w.let("r", fused_steps(w, f, n, x)), w.let("k", w.as(f.whole, shifted))};
}

// x * 2/pi modulo 4, digit by digit: each product is exact (24 + 24 bits), multiples of 4 leave exactly, and the sum keeps its rounding
// errors.
Turned turn_far(Writer& w, V x) {
  constexpr DType d = DType::kF64;
  constexpr int kDigits[] = {0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041};
  const V wide = w.let("wide", w.to(d, x));
  V sum = w.value(d, 0), error = w.value(d, 0);
  int shift = 0;
  for (int digit : kDigits) {
    shift -= 24;
    const V t = w.let("t", w.mul(wide, w.value(d, std::ldexp(double(digit), shift))));
    const V turns = w.op(ExprOp::kRoundEven, w.mul(t, w.value(d, 0.25)));
    const V rest = w.let("rest", w.fma(turns, w.value(d, -4), t));
    const V next = w.let("sum", w.add(sum, rest));
    const V part = w.let("part", w.sub(next, sum));
    error = w.let("error", w.add(error, w.add(w.sub(sum, w.sub(next, part)), w.sub(rest, part))));
    sum = next;
  }
  const V n = w.let("n", w.op(ExprOp::kRoundEven, sum));
  const V r = w.mul(w.add(w.sub(sum, n), error), w.value(d, 1.57079632679489661923));
  return {w.to(DType::kF32, r), w.cast(ExprOp::kCastSat, n, DType::kI32)};
}

Turned turn_far_f64(Writer& w, V x) {
  constexpr DType d = DType::kF64;
  const V turns = w.let("turns", w.mul(x, w.value(d, 0.15915494309189533577)));
  const V part = w.sub(turns, w.op(ExprOp::kRoundEven, turns));
  return turn_near(w, w.let("near", w.mul(part, w.value(d, 6.28318530717958647693))));
}

V sine_poly(Writer& w, V r, V z, const Format& f) {
  const V s = f.wide() ? w.horner(z, f.type,
                                  {-0.16666666666666632, 0.008333333333322385, -0.00019841269829781494, 2.7557313681568396e-06,
                                   -2.5050756322117745e-08, 1.5896682825658088e-10})
                       : w.horner(z, f.type, {-0.16666655, 0.008332176, -0.00019516972});
  return w.select(w.eq(r, w.value(f.type, 0)), r, w.fma(w.mul(r, z), s, r));  // keeps -0
}
V cosine_poly(Writer& w, V z, const Format& f) {
  const V c = f.wide() ? w.horner(z, f.type,
                                  {0.041666666666666595, -0.0013888888888872984, 2.4801587288803233e-05, -2.7557314164600925e-07,
                                   2.087569876313305e-09, -1.1358425178657303e-11})
                       : w.horner(z, f.type, {0.041666646, -0.0013887313, 2.4432786e-05});
  return w.fma(w.mul(z, z), c, w.fma(z, w.value(f.type, -0.5), w.value(f.type, 1)));
}

V by_quadrant(Writer& w, const Turned& t, bool cosine, const Format& f) {
  const V z = w.let("q", w.mul(t.r, t.r));
  const auto whole = [&](int64_t v) { return whole_constant(w, f, v); };
  const V k = cosine ? w.let("k", w.add(t.quadrant, whole(1))) : t.quadrant;
  const V odd = w.eq(w.op(ExprOp::kAnd, k, whole(1)), whole(1));
  const V value = w.select(odd, cosine_poly(w, z, f), sine_poly(w, t.r, z, f));
  const V sign = shift_left(w, f, w.op(ExprOp::kShr, k, whole(1)), f.wide() ? 63 : 31);
  return w.as(f.type, w.op(ExprOp::kXor, w.as(f.whole, value), sign));
}

}  // namespace

V sin_or_cos(Writer& w, V x, bool cosine) {
  const Format& f = format_of(w.elem(x));
  const double limit = f.wide() ? 0x1p45 : 32768;
  const V fast = w.let("fast", by_quadrant(w, turn_near(w, x), cosine, f));
  const V far = w.let("far", w.lt(w.value(f.type, limit), w.op(ExprOp::kAbs, x)));
  return w.rarely(far, fast, [&] { return by_quadrant(w, f.wide() ? turn_far_f64(w, x) : turn_far(w, x), cosine, f); });
}

}  // namespace nnc::math
