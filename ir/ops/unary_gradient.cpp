#include "ir/ops/gradient_util.h"
#include "ir/support/mutant.h"

namespace nnc {
namespace {

constexpr double kInvSqrtTwo = 0.70710678118654752440, kInvSqrtTwoPi = 0.39894228040143267794, kTwoOverSqrtPi = 1.12837916709551257390,
                 kSqrtTwoOverPi = 0.79788456080286535588;

ValueId gelu_slope(Gradient& t, ValueId x) {
  const ValueId square = t.mul(x, x);
  if (t.node().s("approximate") == "tanh") {
    const ValueId u = t.scaled(t.mul(x, t.plus(t.scaled(square, 0.044715), 1)), kSqrtTwoOverPi), tanh = t.op(OpKind::kTanh, {u});
    const ValueId du = t.scaled(t.plus(t.scaled(square, 3 * 0.044715), 1), kSqrtTwoOverPi);
    const ValueId flank = t.mul(t.mul(x, t.sub(t.num(x, 1), t.mul(tanh, tanh))), du);
    return t.scaled(t.add(t.plus(tanh, 1), flank), 0.5);
  }
  const ValueId cdf = t.scaled(t.plus(t.op(OpKind::kErf, {t.scaled(x, kInvSqrtTwo)}), 1), 0.5);
  const ValueId density = t.scaled(t.op(OpKind::kExp, {t.scaled(square, -0.5)}), kInvSqrtTwoPi);
  return t.add(cdf, t.mul(x, density));
}

// `inner` where low < x < high, `below` and `above` elsewhere.
ValueId inside(Gradient& t, ValueId x, double low, double high, ValueId inner, double below, double above) {
  const ValueId high_side = t.where(t.less(x, t.num(x, high)), inner, t.num(x, above));
  return t.where(t.less(t.num(x, low), x), high_side, t.num(x, below));
}

// The derivative at x, given y = op(x).
ValueId slope(Gradient& t, ValueId x, ValueId y) {
  switch (t.node().kind) {
    case OpKind::kAbs: return t.op(OpKind::kSign, {x});
    case OpKind::kSqrt: return t.div(t.num(x, 0.5), y);
    case OpKind::kReciprocal: return t.neg(t.mul(y, y));
    case OpKind::kExp: return y;
    case OpKind::kLog: return t.op(OpKind::kReciprocal, {x});
    case OpKind::kSin: return t.op(OpKind::kCos, {x});
    case OpKind::kCos: return t.neg(t.op(OpKind::kSin, {x}));
    case OpKind::kTanh: return t.sub(t.num(x, 1), mutant("tanh_slope") ? y : t.mul(y, y));
    case OpKind::kErf: return t.scaled(t.op(OpKind::kExp, {t.neg(t.mul(x, x))}), kTwoOverSqrtPi);
    case OpKind::kSigmoid: return t.mul(y, t.sub(t.num(x, 1), y));
    case OpKind::kGelu: return gelu_slope(t, x);
    case OpKind::kSilu: {
      const ValueId s = t.op(OpKind::kSigmoid, {x});
      return t.mul(s, t.plus(t.mul(x, t.sub(t.num(x, 1), s)), 1));
    }
    case OpKind::kHardSigmoid: {
      const double alpha = t.node().f("alpha"), beta = t.node().f("beta");
      return inside(t, t.plus(t.scaled(x, alpha), beta), 0, 1, t.num(x, alpha), 0, 0);
    }
    case OpKind::kHardSwish: return inside(t, x, -3, 3, t.plus(t.scaled(x, 1.0 / 3), 0.5), 0, 1);
    default: NNC_CHECK(false, "a unary op with a slope"); return {};
  }
}

}  // namespace

Status gradient_unary(GradContext& c) {
  Gradient t(c);
  if (!t.wants(0) || !t.g().valid()) return {};
  if (t.node().kind == OpKind::kNeg)
    t.give(0, t.neg(t.g()));
  else if (t.node().kind == OpKind::kRelu)
    t.give(0, t.where_or_zero(t.less(t.num(t.x(0), 0), t.x(0)), t.g()));
  else
    t.give(0, t.mul(t.g(), slope(t, t.x(0), t.y())));
  return t.finish();
}

Status gradient_cast(GradContext& c) {
  Gradient t(c);
  if (t.wants(0) && t.g().valid()) t.give(0, t.cast(t.g(), t.dtype(t.x(0))));
  return t.finish();
}

}  // namespace nnc
