// exp, exp2, tanh, erf. Coefficients are minimax fits in 60 digits, rounded to the type.

#include <cmath>

#include "ir/base/kernel_math.h"

namespace nnc::math {
namespace {

constexpr double kLog2e = 1.4426950408889634074;
// ln 2 in two parts, both positive: the first rounded down.
double ln2_high(const Format& f) { return f.wide() ? 0x1.62e42fefa39efp-1 : 0x1.62e42ep-1; }
double ln2_low(const Format& f) { return f.wide() ? 0x1.abc9e3b39803fp-56 : 0x1.efa39ep-25; }

struct Reduced {
  V shifted, r;  // n + magic; x - n ln 2
};
Reduced reduce(Writer& w, V x, V x_log2e_factor_of, double factor) {
  const Format& f = format_of(w.elem(x));
  const V magic = w.value(f.type, f.magic);
  const V shifted = w.let("z", w.fma(x_log2e_factor_of, w.value(f.type, kLog2e * factor), magic));
  const V n = w.let("n", w.sub(shifted, magic));
  const V high = w.fma(n, w.value(f.type, -ln2_high(f)), x);
  return {shifted, w.let("r", w.fma(n, w.value(f.type, -ln2_low(f)), high))};
}

// (e^r - 1 - r) / r^2
V exp_tail(Writer& w, V r) {
  if (format_of(w.elem(r)).wide())
    return w.horner(r, DType::kF64,
                    {0.5, 0.16666666666666682, 0.04166666666666609, 0.008333333333316918, 0.0013888888889117452, 0.00019841269896679538,
                     2.4801586924344438e-05, 2.755723455923737e-06, 2.755758295436361e-07, 2.511214455496427e-08, 2.0826500791942603e-09});
  return w.horner(r, DType::kF32, {0.49999994, 0.1666652, 0.041668393, 0.008368781, 0.0013814467});
}

V power_of_two(Writer& w, V shifted, int64_t extra) {
  const Format& f = format_of(w.elem(shifted));
  const V exponent = shift_left(w, f, w.as(f.whole, shifted), f.mantissa);
  return w.as(f.type, w.add(exponent, whole_constant(w, f, int64_t(uint64_t(f.bias + extra) << f.mantissa))));
}

}  // namespace

V expm1_poly(Writer& w, V r) { return w.fma(w.mul(r, r), exp_tail(w, r), r); }

V exp2_poly(Writer& w, V r) {
  if (format_of(w.elem(r)).wide())
    return w.horner(r, DType::kF64,
                    {1.0, 0.6931471805599453, 0.24022650695910072, 0.05550410866482169, 0.009618129107628328, 0.0013333558146392407,
                     0.00015403530393642788, 1.5252733854618257e-05, 1.321548659374573e-06, 1.017805180634653e-07, 7.0549747277142475e-09,
                     4.456592474554839e-10, 2.562531749586647e-11});
  return w.horner(r, DType::kF32, {1.0, 0.6931472, 0.24022648, 0.05550332, 0.009618439, 0.0013399003, 0.0001535326});
}

V scale(Writer& w, V p, V shifted, V falls) {
  // 2^n is no normal number at the ends. A factor of 2^(mantissa-sized) each way keeps both factors normal and leaves one rounding.
  const Format& f = format_of(w.elem(p));
  const int part = f.wide() ? 512 : 64;
  const auto biased = [&](int extra) { return whole_constant(w, f, int64_t(uint64_t(f.bias + extra) << f.mantissa)); };
  const V exponent = shift_left(w, f, w.as(f.whole, shifted), f.mantissa);
  const V power = w.as(f.type, w.add(exponent, w.select(falls, biased(part), biased(-part))));
  const V rest = w.select(falls, w.value(f.type, std::ldexp(1.0, -part)), w.value(f.type, std::ldexp(1.0, part)));
  return w.mul(w.mul(p, power), rest);
}

V exp(Writer& w, V x) {
  const Format& f = format_of(w.elem(x));
  const V c = w.let("c", f.wide() ? w.clamp(x, -746, 710) : w.clamp(x, -104, 89));
  const Reduced d = reduce(w, c, c, 1);
  const V one = w.value(f.type, 1);
  const V p = w.fma(w.fma(exp_tail(w, d.r), d.r, one), d.r, one);
  return scale(w, p, d.shifted, w.let("falls", w.lt(c, w.value(f.type, 0))));
}

V exp2(Writer& w, V x) {
  const Format& f = format_of(w.elem(x));
  const V c = w.let("c", f.wide() ? w.clamp(x, -1076, 1025) : w.clamp(x, -151, 129));
  const V magic = w.value(f.type, f.magic);
  const V shifted = w.let("z", w.add(c, magic));
  const V r = w.let("r", w.sub(c, w.sub(shifted, magic)));
  return scale(w, exp2_poly(w, r), shifted, w.let("falls", w.lt(c, w.value(f.type, 0))));
}

// (e^2a - 1) / (e^2a + 1) of a = |x|, with e^2a - 1 = 2^n (e^r - 1) + (2^n - 1); near zero, where its three roundings would add up, a
// polynomial.
V tanh(Writer& w, V x) {
  const Format& f = format_of(w.elem(x));
  const V a = w.let("a", w.op(ExprOp::kAbs, x));
  const V c = w.let("c", w.op(ExprOp::kMin, a, w.value(f.type, f.wide() ? 20 : 9.02)));
  const Reduced d = reduce(w, w.add(c, c), c, 2);
  const V power = w.let("s", power_of_two(w, d.shifted, 0));
  const V e = w.let("e", w.fma(power, expm1_poly(w, d.r), w.sub(power, w.value(f.type, 1))));
  const V far = w.let("far", w.div(e, w.add(e, w.value(f.type, 2))));
  const V z = w.let("q", w.mul(a, a));
  const V p = f.wide()
                  ? w.horner(z, f.type,
                             {-0.3333333333333314, 0.13333333333287503, -0.05396825393044459, 0.02186948700427292, -0.008863200334253089,
                              0.003591637796487417, -0.0014515998267578204, 0.0005676957890603279, -0.0001719015746591786})
                  : w.horner(z, f.type, {-0.33333313, 0.13332482, -0.053840566, 0.021020686, -0.006198846});
  const V near = w.let("near", w.fma(w.mul(a, z), p, a));
  const V t = w.select(w.lt(a, w.value(f.type, f.wide() ? 0.41 : 0.56)), near, far);
  const V sign = w.op(ExprOp::kAnd, w.as(f.whole, x), whole_constant(w, f, f.wide() ? INT64_MIN : INT32_MIN));
  return w.as(f.type, w.op(ExprOp::kOr, w.as(f.whole, t), sign));
}

namespace {

// erfc on [1, ...): e^u with a fitted exponent for f32; e^(-a^2) q(1 / (a + 2)) for f64.
V erfc_far(Writer& w, V a) {
  const Format& f = format_of(w.elem(a));
  V exponent, factor;
  if (f.wide()) {
    exponent = w.let("u", w.negate(w.mul(a, a)));
    const V t = w.let("t", w.div(w.value(f.type, 1), w.add(a, w.value(f.type, 2))));
    factor = w.horner(t, f.type,
                      {-3.0780692784444674e-06, 0.564375026943897, 1.1233146833174614, 2.057874883039811, 1.9027033338666077,
                       9.856610116947838, -40.98194672661205, 160.79335406070777, -509.8229687106237, 993.1457592751269, -1151.215391204978,
                       746.8048155068499, -211.76358094146582});
  } else {
    exponent =
        w.let("u", w.horner(a, f.type, {-0.0003415283, -1.1270891, -0.63814485, -0.103106715, 0.021838045, -0.0029476534, 0.00018637867}));
  }
  const Reduced d = reduce(w, exponent, exponent, 1);
  const V one = w.value(f.type, 1);
  const V p = w.fma(w.fma(exp_tail(w, d.r), d.r, one), d.r, one);
  const V e = w.mul(p, power_of_two(w, d.shifted, 0));
  return f.wide() ? w.mul(e, factor) : e;
}

}  // namespace

V erf(Writer& w, V x) {
  const Format& f = format_of(w.elem(x));
  const V z = w.let("z", w.mul(x, x));
  const V ratio =
      f.wide() ? w.horner(z, f.type,
                          {0.1283791670955126, -0.37612638903183754, 0.11283791670955119, -0.026866170645129736, 0.005223977625422104,
                           -0.0008548327021854214, 0.00012055332899393883, -1.4925647465956485e-05, 1.6462043420826237e-06,
                           -1.6364614554752861e-07, 1.4792146609872266e-08, -1.216304501303421e-09, 8.703794250610697e-11,
                           -4.222894090238812e-12})
               : w.horner(z, f.type, {0.12837917, -0.37612626, 0.112835824, -0.026853643, 0.0051879627, -0.0008006793, 7.842288e-05});
  const V near = w.let("near", w.fma(x, ratio, x));
  const V a = w.let("a", w.op(ExprOp::kMin, w.op(ExprOp::kAbs, x), w.value(f.type, f.wide() ? 6.0 : 4.0)));
  const V far = w.let("far", w.sub(w.value(f.type, 1), erfc_far(w, a)));
  const V zero = w.value(f.type, 0);
  const V far_signed = w.select(w.lt(x, zero), w.negate(far), far);
  return w.select(w.lt(a, w.value(f.type, 1)), near, far_signed);  // NaN: a is NaN, and far with it
}

}  // namespace nnc::math
