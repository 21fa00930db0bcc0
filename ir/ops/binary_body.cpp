#include "ir/ops/body_util.h"
#include "ir/support/mutant.h"

namespace nnc {
namespace {

Expr num(KernelBuilder& k, Expr x, double v) { return k.constant(k.type(x).elem, v, k.lanes(x)); }

// Remainder with the sign of b; a zero has it too.
Expr floor_mod(KernelBuilder& k, Expr a, Expr b) {
  if (!k.type(a).floating()) return mutant("mod_truncates") ? k.binary(ExprOp::kRem, a, b) : k.floormod(a, b);
  const Expr r = k.binary(ExprOp::kRem, a, b), zero = num(k, b, 0), b_negative = k.lt(b, zero);
  const Expr signs_differ = k.binary(ExprOp::kXor, k.lt(r, num(k, r, 0)), b_negative);
  return k.select(k.eq(r, num(k, r, 0)), k.select(b_negative, num(k, b, -0.0), zero), k.select(signs_differ, k.add(r, b), r));
}

Expr binary(BodyContext& c, Expr a, Expr b) {
  KernelBuilder& k = c.k();
  switch (c.node.kind) {
    case OpKind::kAdd:
      if (mutant("i64_sum_in_i32") && k.type(a).is_elem(DType::kI64))
        return k.convert(k.add(k.convert(a, DType::kI32), k.convert(b, DType::kI32)), DType::kI64);
      return k.add(a, b);
    case OpKind::kSub: return k.sub(a, b);
    case OpKind::kMul: return k.mul(a, b);
    case OpKind::kDiv: return k.div(a, b);
    case OpKind::kMod: return c.node.i("fmod") != 0 ? k.binary(ExprOp::kRem, a, b) : floor_mod(k, a, b);
    case OpKind::kMin: return k.min(a, b);
    case OpKind::kMax: return k.max(a, b);
    case OpKind::kEqual: return k.eq(a, b);
    case OpKind::kLess: return k.lt(a, b);
    case OpKind::kLessEqual: return k.le(a, b);
    case OpKind::kAnd: return k.binary(ExprOp::kAnd, a, b);
    case OpKind::kOr: return k.binary(ExprOp::kOr, a, b);
    case OpKind::kXor: return k.binary(ExprOp::kXor, a, b);
    default: NNC_CHECK(false, "a binary op"); return a;
  }
}

// x to the power y by squaring, modulo 2^bits; both of one integer type.
Expr int_power(KernelBuilder& k, Expr x, Expr y) {
  const DType t = k.type(x).elem;
  const int lanes = std::max(k.lanes(x), k.lanes(y));
  const VarId result = k.mut("power", k.constant(t, 1, lanes)), factor = k.mut("factor", k.splat(x, lanes)),
              left = k.mut("left", k.splat(y, lanes));
  const Expr one = k.constant(t, 1, lanes), zero = k.constant(t, 0, lanes);
  k.for_("bit", k.index(0), k.index(dtype_bits(t)), 1, [&](Expr) {
    const Expr odd = k.eq(k.binary(ExprOp::kAnd, k.var(left), one), one);
    k.set(result, k.select(odd, k.mul(k.var(result), k.var(factor)), k.var(result)));
    k.set(factor, k.mul(k.var(factor), k.var(factor)));
    k.set(left, k.binary(ExprOp::kShr, k.var(left), one));
  });
  if (!is_signed_int(t)) return k.var(result);
  // Of negative exponents only 1 and -1 have whole powers.
  const Expr minus = k.constant(t, -1, lanes), odd = k.eq(k.binary(ExprOp::kAnd, y, one), one);
  const Expr inverse = k.select(k.eq(x, one), one, k.select(k.eq(x, minus), k.select(odd, minus, one), zero));
  return k.select(k.lt(y, zero), inverse, k.var(result));
}

DType wider(DType a, DType b) { return a == DType::kF64 || b == DType::kF64 ? DType::kF64 : DType::kF32; }

}  // namespace

void body_binary(BodyContext& c) { c.result = binary(c, c.args[0], c.args[1]); }

void body_pow(BodyContext& c) {
  KernelBuilder& k = c.k();
  const Expr x = c.args[0], y = c.args[1];
  const DType tx = k.type(x).elem, ty = k.type(y).elem;
  if (is_int(tx) && is_int(ty)) {
    const DType common =
        dtype_bits(ty) > dtype_bits(tx) || is_signed_int(ty) != is_signed_int(tx) ? (ty == DType::kU64 ? DType::kU64 : DType::kI64) : tx;
    c.result = k.convert(int_power(k, k.convert(x, common), k.convert(y, common)), tx);
    return;
  }
  // Integers take part exactly.
  const DType common =
      is_int(tx) || is_int(ty) ? ((is_int(tx) ? dtype_bits(tx) : dtype_bits(ty)) > 16 ? DType::kF64 : wider(tx, ty)) : wider(tx, ty);
  c.result = k.convert(k.math(ExprOp::kPow, k.convert(x, common), k.convert(y, common)), tx);
}

void body_where(BodyContext& c) { c.result = c.k().select(c.args[0], c.args[1], c.args[2]); }

void body_clip(BodyContext& c) {
  Expr v = c.args[0];
  if (c.has(1)) v = max_with(c.k(), v, c.args[1]);
  if (c.has(2)) v = min_with(c.k(), v, c.args[2]);
  c.result = v;
}

}  // namespace nnc
