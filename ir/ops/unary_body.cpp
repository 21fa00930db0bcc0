#include "ir/base/kernel_narrow.h"
#include "ir/ops/body_util.h"
#include "ir/support/mutant.h"

namespace nnc {
namespace {

constexpr double kInvSqrtTwo = 0.70710678118654752440, kSqrtTwoOverPi = 0.79788456080286535588;

// A number in x's type.
Expr num(KernelBuilder& k, Expr x, double v) { return k.constant(k.type(x).elem, v, k.lanes(x)); }

// 1 / (1 + e) or e / (1 + e) with e = exp(-|x|): no overflow on either side.
Expr sigmoid(KernelBuilder& k, Expr x) {
  const Expr e = k.math(ExprOp::kExp, k.unary(ExprOp::kNeg, k.unary(ExprOp::kAbs, x)));
  const Expr r = k.div(num(k, x, 1), k.add(num(k, x, 1), e));
  return k.select(k.lt(x, num(k, x, 0)), k.mul(e, r), r);
}

Expr gelu(KernelBuilder& k, Expr x, bool approximate) {
  const Expr half = k.mul(num(k, x, 0.5), x), one = num(k, x, 1);
  if (!approximate) return k.mul(half, k.add(one, k.math(ExprOp::kErf, k.mul(x, num(k, x, kInvSqrtTwo)))));
  const Expr cube = k.mul(k.mul(k.mul(num(k, x, 0.044715), x), x), x);
  return k.mul(half, k.add(one, k.math(ExprOp::kTanh, k.mul(num(k, x, kSqrtTwoOverPi), k.add(x, cube)))));
}

Expr clamped_to_unit(KernelBuilder& k, Expr v) { return max_with(k, min_with(k, v, num(k, v, 1)), num(k, v, 0)); }

Expr sign(KernelBuilder& k, Expr x) {
  const Expr zero = num(k, x, 0), one = num(k, x, 1), positive = k.lt(zero, x);
  if (!k.type(x).floating()) {
    const Expr rest = is_signed_int(k.type(x).elem) ? k.select(k.lt(x, zero), num(k, x, -1), zero) : zero;
    return k.select(positive, one, rest);
  }
  const Expr other = k.select(k.unary(ExprOp::kIsNan, x), x, zero);
  return k.select(positive, one, k.select(k.lt(x, zero), num(k, x, -1), other));
}

Expr unary(BodyContext& c, Expr x) {
  KernelBuilder& k = c.k();
  const bool is_unsigned = k.type(x).kind == KType::kElem && is_unsigned_int(k.type(x).elem);
  switch (c.node.kind) {
    case OpKind::kNeg: return k.unary(ExprOp::kNeg, x);
    case OpKind::kAbs: return is_unsigned ? x : k.unary(ExprOp::kAbs, x);
    case OpKind::kSign: return sign(k, x);
    case OpKind::kSqrt: return k.unary(ExprOp::kSqrt, x);
    case OpKind::kReciprocal: return k.div(num(k, x, 1), x);
    case OpKind::kExp: return k.math(ExprOp::kExp, x);
    case OpKind::kLog: return k.math(ExprOp::kLog, x);
    case OpKind::kSin: return k.math(ExprOp::kSin, x);
    case OpKind::kCos: return k.math(ExprOp::kCos, x);
    case OpKind::kTanh: return k.math(ExprOp::kTanh, x);
    case OpKind::kErf: return k.math(ExprOp::kErf, x);
    case OpKind::kSigmoid: return sigmoid(k, x);
    case OpKind::kRelu: return is_unsigned ? x : max_with(k, x, num(k, x, 0));
    case OpKind::kGelu: return gelu(k, x, c.node.s("approximate") == "tanh");
    case OpKind::kSilu: return k.mul(x, sigmoid(k, x));
    case OpKind::kHardSigmoid: {
      const DType t = c.dtype(0);
      return clamped_to_unit(k, k.fma(x, num(k, x, round_to(t, c.node.f("alpha"))), num(k, x, round_to(t, c.node.f("beta")))));
    }
    case OpKind::kHardSwish: return k.mul(x, clamped_to_unit(k, k.fma(x, num(k, x, 1.0 / 6), num(k, x, 0.5))));
    case OpKind::kFloor: return k.unary(ExprOp::kFloor, x);
    case OpKind::kCeil: return k.unary(ExprOp::kCeil, x);
    case OpKind::kRound:
      if (mutant("ties_round_up")) return k.unary(ExprOp::kFloor, k.add(x, num(k, x, 0.5)));
      return k.unary(ExprOp::kRoundEven, x);
    case OpKind::kNot: return k.unary(ExprOp::kNot, x);
    case OpKind::kIsNan: return k.unary(ExprOp::kIsNan, x);
    default: NNC_CHECK(false, "a unary op"); return x;
  }
}

}  // namespace

void body_unary(BodyContext& c) { c.result = unary(c, c.args[0]); }

void body_cast(BodyContext& c) {
  const DType to = c.result_type().dtype, computed = compute_dtype(to);
  if (is_narrow(to)) {
    const std::string_view mode = c.node.s("round_mode");
    c.result = cast_narrow(c.k(), c.args[0], to, c.node.i("saturate") != 0 ? Overflow::kSaturate : Overflow::kInf,
                           mode == "up"     ? ScaleRound::kUp
                           : mode == "down" ? ScaleRound::kDown
                                            : ScaleRound::kNearest);
    return;
  }
  // Through the stored type where it is narrower, so that the value is rounded once.
  c.result = to == computed || computed != DType::kF32 || dtype_bits(to) < 16 ? c.k().convert(c.args[0], computed)
                                                                              : c.k().convert(c.k().convert(c.args[0], to), computed);
}

}  // namespace nnc
